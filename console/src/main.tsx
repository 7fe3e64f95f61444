import '@mantine/core/styles.layer.css';
import './tokens.css';
import { MantineProvider } from '@mantine/core';
import { MutationCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiError } from './api/client.ts';
import { whenBack } from './api/connection.ts';
import { SessionProvider } from './api/session.tsx';
import { App } from './app.tsx';
import { cssVariables, theme } from './theme.ts';

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // What is there is shown at once and renewed behind it.
      staleTime: 5_000,
      gcTime: 30 * 60_000,
      refetchOnWindowFocus: true,
      retry: (failures, error) => !(error instanceof ApiError) && failures < 1,
    },
  },
  mutationCache: new MutationCache({ onSuccess: () => void queries.invalidateQueries() }),
});
whenBack(() => void queries.invalidateQueries());

/** Allows the style elements that the component library writes. */
function styleNonce(): string {
  return document.querySelector<HTMLElement>('script[nonce], link[nonce], meta[nonce]')?.nonce ?? '';
}

// Where the library's dialogs, which keep the page behind them from scrolling, look for it.
Object.assign(window, { __webpack_nonce__: styleNonce() });

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no #root');
createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      getStyleNonce={styleNonce}
    >
      <QueryClientProvider client={queries}>
        <SessionProvider>
          <App />
        </SessionProvider>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
