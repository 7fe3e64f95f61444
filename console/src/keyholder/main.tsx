import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { mount } from '../mount.tsx';
import { Keyholder } from './keyholder.tsx';

// Every look counts in the key's rate limit: none is made that nobody asked for.
const queries = new QueryClient({
  defaultOptions: { queries: { retry: false, refetchOnWindowFocus: false, refetchOnReconnect: false } },
});

mount(
  <QueryClientProvider client={queries}>
    <Keyholder />
  </QueryClientProvider>,
);
