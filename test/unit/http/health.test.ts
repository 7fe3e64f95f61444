/** The two routes that supervisors and load balancers ask, over each transport. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestHandler } from '../../../src/http/app.ts';
import { REFUSING_GATEWAY } from '../../support/refusing-gateway.ts';
import { serverFixture } from '../transport/server/fixture.ts';

test('[F6] [F9] /readyz is 503 without the store and during a drain, /healthz is 200 all the time', async () => {
  let ready = true;
  let accepting = true;
  const handler = requestHandler({
    gateway: REFUSING_GATEWAY,
    headerCount: 100,
    pages: null,
    sockets: { accept: () => assert.fail() },
    secure: false,
    ready: async () => ready,
    accepting: () => accepting,
  });
  await using end = await serverFixture(handler.onRequest);
  const status = async (path: string): Promise<number> => {
    const response = await fetch(`http://127.0.0.1:${end.port}${path}`);
    await response.arrayBuffer();
    return response.status;
  };
  assert.deepEqual([await status('/readyz'), await status('/healthz')], [200, 200]);
  ready = false;
  assert.deepEqual([await status('/readyz'), await status('/healthz')], [503, 200]);
  accepting = false;
  assert.deepEqual([await status('/readyz'), await status('/healthz')], [503, 200]);
  assert.equal(await status('/'), 503);
});
