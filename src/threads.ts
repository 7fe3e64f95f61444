/** Several HTTP threads on one port, all writing through the one writer of the embedded store. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { type MessagePort, Worker } from 'node:worker_threads';
import type { Settings } from './config/config.ts';
import type { Environment } from './config/settings.ts';
import type { CatalogNames, Serving } from './serve.ts';

export interface SharedOptions {
  readonly settings: Settings;
  readonly env: Environment;
  readonly installationSecret: string;
  readonly sandboxUrl: string;
}

/** What a thread is started with. */
export interface ThreadData extends SharedOptions {
  readonly store: MessagePort;
}

/** What a thread tells its parent. */
export type ThreadReport =
  | { readonly kind: 'catalog'; readonly names: CatalogNames }
  | { readonly kind: 'listening' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'drained' };

export type ThreadCommand = 'drain' | 'close';

export async function serveInThreads(shared: SharedOptions, connect: () => MessagePort): Promise<Serving> {
  const port = await freePort(shared.settings);
  const settings = { ...shared.settings, port };
  let names: CatalogNames = { providers: [], models: [], sandbox: false };
  const threads: Worker[] = [];
  try {
    for (let i = 0; i < settings.workers; i++) {
      const store = connect();
      const data: ThreadData = { ...shared, settings, store };
      const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
      const thread = new Worker(new URL(`./thread.${extension}`, import.meta.url), {
        workerData: data,
        transferList: [store],
      });
      threads.push(thread);
      thread.on('message', (report: ThreadReport) => {
        if (report.kind === 'catalog') names = report.names;
      });
      await report(thread, 'listening');
    }
  } catch (error) {
    await Promise.all(threads.map((thread) => thread.terminate()));
    throw error;
  }
  const tell = (command: ThreadCommand): void => {
    for (const thread of threads) thread.postMessage(command);
  };
  return {
    port,
    catalog: () => names,
    drain: async () => {
      const drained = threads.map((thread) => report(thread, 'drained'));
      tell('drain');
      await Promise.all(drained);
    },
    close: async () => {
      const ended = threads.map((thread) => once(thread, 'exit'));
      tell('close');
      await Promise.all(ended);
    },
  };
}

/**
 * The port, after an exclusive bind: with a shared port a second gateway would otherwise not be noticed, and both would
 * answer in turns.
 */
async function freePort({ host, port }: Settings): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject);
    probe.listen({ host, port }, resolve);
  });
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('the public listener has no port');
  return address.port;
}

function report(thread: Worker, kind: ThreadReport['kind']): Promise<void> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: ThreadReport): void => {
      if (message.kind === kind) resolve();
      else if (message.kind === 'failed') reject(new Error(message.message));
      else return;
      thread.off('message', onMessage);
    };
    thread.on('message', onMessage);
    thread.once('error', reject);
  });
}
