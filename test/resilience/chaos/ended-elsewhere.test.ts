/** A process that was away for longer than its lease: another one has ended its holds, by their marks or without a charge. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultyGateway } from '../../support/faulty-gateway.ts';
import { gatedUpstream } from '../../support/upstreams/gated.ts';

for (const stream of [true, false]) {
  test(`[F10] [R51] an answer whose hold was ended meanwhile is not given as complete (${stream ? 'streamed' : 'whole'})`, async () => {
    await using upstream = await gatedUpstream();
    await using gateway = await faultyGateway(`${upstream.config}sandbox: false\n`);
    const key = await gateway.admin.createKey({ mode: 'credit', credit: '5' });
    const asked = fetch(`${gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key.key}` },
      body: JSON.stringify({ model: 'gated/one', stream, messages: [{ role: 'user', content: 'Hello' }] }),
    });
    const call = await upstream.next();
    if (stream) call.begin();
    const holdId = String(gateway.database.prepare('SELECT id FROM holds').get()?.id ?? '');
    const [voided] = await gateway.store.apply([{ op: 'void', keyId: key.id, holdId }]);
    assert.deepEqual(voided, { kind: 'voided' });
    if (stream) call.finish();
    else call.answer();
    const response = await asked;
    const text = await response.text();
    assert.equal(response.status, stream ? 200 : 503);
    assert.match(text, /"code":"service_unavailable"/);
    assert.doesNotMatch(text, /\[DONE\]|"object":"chat\.completion"/);
    const view = await gateway.admin.showKey(key.id);
    assert.deepEqual([view.used, view.reserved, view.live_holds], [0, 0, 0]);
  });
}
