/** The simulated upstream as a child of the bench. */
import { fileURLToPath } from 'node:url';
import { type Child, freePort, type Placement, sleep, startChild } from './processes.ts';
import type { TlsFiles } from './tls.ts';

const PROGRAM = fileURLToPath(new URL('upstream.ts', import.meta.url));

export interface Upstream {
  readonly origin: string;
  /** The same over TLS, where it was started with a certificate. */
  readonly secureOrigin: string;
  readonly child: Child;
}

export async function startUpstream(placement: Placement, tls: TlsFiles | null = null): Promise<Upstream> {
  const port = await freePort();
  const securePort = await freePort();
  const args = [PROGRAM, String(port), ...(tls === null ? [] : [String(securePort), tls.cert, tls.key])];
  const child = startChild(placement.prefix('load'), { command: process.execPath, args });
  const origin = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 500 && !child.hasExited(); tries++) {
    try {
      await (await fetch(origin)).arrayBuffer();
      return { child, origin, secureOrigin: `https://127.0.0.1:${securePort}` };
    } catch {
      await sleep(20);
    }
  }
  throw new Error(`the simulated upstream did not start: ${child.output()}`);
}
