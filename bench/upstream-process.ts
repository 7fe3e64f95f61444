/** The simulated upstream as a child of the bench. */
import { fileURLToPath } from 'node:url';
import { type Child, freePort, type Placement, sleep, startChild } from './processes.ts';

const PROGRAM = fileURLToPath(new URL('upstream.ts', import.meta.url));

export interface Upstream {
  readonly origin: string;
  readonly child: Child;
}

export async function startUpstream(placement: Placement): Promise<Upstream> {
  const port = await freePort();
  const child = startChild(placement.prefix('load'), { command: process.execPath, args: [PROGRAM, String(port)] });
  const origin = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 500 && !child.hasExited(); tries++) {
    try {
      await (await fetch(origin)).arrayBuffer();
      return { child, origin };
    } catch {
      await sleep(20);
    }
  }
  throw new Error(`the simulated upstream did not start: ${child.output()}`);
}
