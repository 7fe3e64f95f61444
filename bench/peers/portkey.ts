import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Adapter } from '../peer.ts';

const PROGRAM = fileURLToPath(new URL('../../node_modules/@portkey-ai/gateway/build/start-server.js', import.meta.url));

const STREAMS = new URL('portkey-streams.ts', import.meta.url).href;

/** Portkey's gateway from npm: no console, no log; a loopback upstream has to be declared trusted. */
export const portkey: Adapter = {
  name: 'portkey',
  note: 'portkey streams only with a shim for its immutable response headers (bench/peers/portkey-streams.ts)',
  missing: () => (existsSync(PROGRAM) ? null : 'not installed (npm ci)'),
  refuses: (shape) =>
    shape.client === 'messages' && shape.native === 'chat' ? 'it offers messages only in front of messages' : null,
  launch: ({ port, upstreamOrigin }) => ({
    command: process.execPath,
    args: ['--import', STREAMS, PROGRAM, '--headless', `--port=${port}`],
    env: { TRUSTED_CUSTOM_HOSTS: new URL(upstreamOrigin).hostname, NODE_ENV: 'production' },
    origin: `http://127.0.0.1:${port}`,
    readyPath: '/',
    runsOnNode: true,
    tellsLoopDelay: true,
    headers: (shape) => ({
      authorization: 'Bearer bench',
      'x-portkey-provider': shape.native === 'chat' ? 'openai' : 'anthropic',
      'x-portkey-custom-host': `${upstreamOrigin}/v1`,
    }),
  }),
};
