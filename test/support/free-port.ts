import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below those that systems give to whoever names none: between now and its use nobody is given it. */
const FROM = 15_000;
const UNTIL = 32_000;

/** A port of this machine that nobody listens on now; for what must be named before it is started. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FROM, UNTIL);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  return new Promise((resolve, reject) => {
    probe.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(error);
    });
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
