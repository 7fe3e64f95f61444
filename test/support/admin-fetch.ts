/** Calls to the admin API over its socket, as they are: with status, and as streams. */
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { socketPath } from '../../src/admin/socket.ts';

export interface AdminAnswer {
  readonly status: number;
  readonly body: unknown;
}

export interface AdminStream {
  /** Resolves with all that has come when that fits. */
  until(wanted: RegExp): Promise<string>;
  close(): void;
}

export interface AdminFetch {
  (path: string, method?: string, body?: object): Promise<AdminAnswer>;
  stream(path: string): Promise<AdminStream>;
}

export function adminFetch(dataDir: string): AdminFetch {
  const options = (path: string) => ({
    socketPath: socketPath(dataDir),
    path: `/admin/v1${path}`,
    agent: false as const,
  });
  const send = (path: string, method = 'GET', body?: object): Promise<AdminAnswer> =>
    new Promise((resolve, reject) => {
      const headers = body === undefined ? {} : { 'content-type': 'application/json' };
      const call = request({ ...options(path), method, headers }, (response) => {
        text(response).then((all) => resolve({ status: response.statusCode ?? 0, body: JSON.parse(all) }), reject);
      });
      call.on('error', reject);
      call.end(body === undefined ? undefined : JSON.stringify(body));
    });
  const stream = (path: string): Promise<AdminStream> =>
    new Promise((resolve, reject) => {
      const call = request(options(path), (response) => {
        let all = '';
        const watchers = new Set<() => void>();
        response.on('error', () => {});
        response.on('data', (chunk: Buffer) => {
          all += chunk.toString();
          for (const watch of [...watchers]) watch();
        });
        resolve({
          until: (wanted) =>
            new Promise((found) => {
              const watch = (): void => {
                if (!wanted.test(all)) return;
                watchers.delete(watch);
                found(all);
              };
              watchers.add(watch);
              watch();
            }),
          close: () => call.destroy(),
        });
      });
      call.on('error', reject);
      call.end();
    });
  return Object.assign(send, { stream });
}
