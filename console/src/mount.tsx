/** Puts a page into its document: the component library in the console's colours, within the Content-Security-Policy. */
import '@mantine/core/styles.layer.css';
import './tokens.css';
import { MantineProvider } from '@mantine/core';
import { type ReactNode, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { cssVariables, theme } from './theme.ts';

/** Allows the style elements that the component library writes. */
function styleNonce(): string {
  return document.querySelector<HTMLElement>('script[nonce], link[nonce], meta[nonce]')?.nonce ?? '';
}

export function mount(page: ReactNode): void {
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
        {page}
      </MantineProvider>
    </StrictMode>,
  );
}
