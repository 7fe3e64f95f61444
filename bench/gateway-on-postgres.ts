/**
 * `node bench/gateway-on-postgres.ts bin/gateway.mjs [FLAGS OF start]`: the gateway on a PostgreSQL of its own, from its npm package, with every commit on the
 * disk. Both are children of this process, so that a tree's CPU is that of both.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { startPostgres } from '../test/support/postgres.ts';

const [program, ...flags] = process.argv.slice(2);
if (program === undefined) throw new Error('usage: gateway-on-postgres.ts PROGRAM');
const server = await startPostgres(['-c', 'shared_buffers=256MB']);
const gateway = spawn(process.execPath, [program, 'start', ...flags], {
  env: { ...process.env, DATABASE_URL: server.url(await server.createDatabase()) },
  stdio: 'inherit',
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => gateway.kill('SIGINT'));
const [code] = (await once(gateway, 'exit')) as [number | null];
await server.stop();
process.exit(code ?? 1);
