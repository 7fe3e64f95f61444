import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** Where `npm run console:dev` finds the API. */
const GATEWAY = process.env.GATEWAY_ADMIN_URL ?? 'http://127.0.0.1:8081';

export default defineConfig({
  plugins: [react()],
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    // A `data:` address would need an exception in the Content-Security-Policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1_000,
  },
  server: { proxy: { '/admin': { target: GATEWAY, changeOrigin: true } } },
});
