/** The key holder's page: a build of its own, so that the public listener serves nothing of the console. */
import { fileURLToPath } from 'node:url';
import { mergeConfig } from 'vite';
import shared from './vite.config.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default mergeConfig(shared, {
  root: here('./account'),
  base: '/account/',
  build: { outDir: here('./dist/account') },
  server: {
    proxy: Object.fromEntries(
      ['data', 'session', 'statement'].map((name) => [`/account/${name}`, 'http://127.0.0.1:8080']),
    ),
  },
});
