import { fileURLToPath } from 'node:url';
import { type Adapter, originOf, type PeerContext } from '../peer.ts';

const PROGRAM = fileURLToPath(new URL('../bare-proxy.ts', import.meta.url));

function bareProxy(name: string, flags: readonly string[]): Adapter {
  return {
    name,
    missing: () => null,
    refuses: (shape) => (shape.client === shape.native ? null : 'it does not translate'),
    launch: (context) => ({
      command: process.execPath,
      args: [PROGRAM, String(context.port), context.upstreamOrigin, ...flags, ...tlsFlags(context)],
      origin: originOf(context),
      readyPath: '/',
      runsOnNode: true,
      tellsLoopDelay: true,
      headers: () => ({ authorization: 'Bearer bench' }),
    }),
  };
}

function tlsFlags({ tls }: PeerContext): readonly string[] {
  return tls === null ? [] : ['--cert', tls.cert, '--key', tls.key];
}

export const bare = bareProxy('bare', []);
/** The A/A control: the same program once more. How far its ratio is from 1 is the noise of the run. */
export const bareAgain = bareProxy('bare again', []);
export const bareParse = bareProxy('bare+parse', ['--parse']);
