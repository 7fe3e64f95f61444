import { MutationCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { ApiError } from './api/client.ts';
import { whenBack } from './api/connection.ts';
import { SessionProvider } from './api/session.tsx';
import { App } from './app.tsx';
import { mount } from './mount.tsx';

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

mount(
  <QueryClientProvider client={queries}>
    <SessionProvider>
      <App />
    </SessionProvider>
  </QueryClientProvider>,
);
