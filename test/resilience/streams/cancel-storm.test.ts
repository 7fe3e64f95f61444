/** Many streams at once, half of them cut at the same moment: everything is settled, and nothing stays behind. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { MeasuredGateway, type Measurement } from '../../support/measured-gateway.ts';
import { ClientStream } from '../../support/scripted-gateway.ts';
import type { ScriptedCall } from '../../support/upstreams/scripted.ts';
import { INPUT_TOKENS, OUTPUT_TOKENS, SPEECH } from '../../support/upstreams/spoken.ts';

const STREAMS = 600;
/** Fewer than a listener's queue holds. */
const OPENED_TOGETHER = 100;
const LEFT_PER_STREAM_BYTES_MAX = 2_000;
const { opening, closing, text, request, terminal } = SPEECH.chat;

/** Opens all, cuts every second one at once, lets the others finish, and waits until the gateway is at rest. */
async function storm(gateway: MeasuredGateway, key: CreatedKey): Promise<void> {
  const calls: ScriptedCall[] = [];
  const clients: ClientStream[] = [];
  while (clients.length < STREAMS) {
    // Half of them are recorded for a replay, which is memory of its own.
    const fresh = Array.from({ length: OPENED_TOGETHER }, (_, index) => {
      const headers = index % 4 < 2 ? { 'idempotency-key': crypto.randomUUID() } : {};
      return new ClientStream(key, 'chat', request({ stream: true, max_tokens: 100 }), headers).read();
    });
    clients.push(...fresh);
    for (const _ of fresh) {
      const call = await gateway.provider.next();
      calls.push(call);
      call.streamHead({ connection: 'close' });
      call.chunk(opening.join('') + text('first words'));
    }
    await Promise.all(fresh.map((client) => client.until(/first words/)));
  }
  const { live_holds: held } = await gateway.admin.audit();
  assert.equal(held, STREAMS, 'all of them are open');
  assert.ok((await gateway.measure()).sockets >= 2 * STREAMS, 'each has a connection on either side');

  const cut = clients.filter((_, index) => index % 2 === 1);
  const kept = clients.filter((_, index) => index % 2 === 0);
  let closedAtProvider = 0;
  const allClosed = new Promise<void>((resolve) => {
    for (const call of calls) {
      call.socket.once('close', () => {
        closedAtProvider += 1;
        if (closedAtProvider === cut.length) resolve();
      });
    }
  });
  for (const client of cut) client.close();
  await allClosed;

  const open = calls.filter((call) => !call.socket.destroyed);
  assert.equal(open.length, kept.length, 'only the cut ones were closed at the provider');
  for (const call of open) {
    for (const frame of closing) call.chunk(frame);
    call.finish();
    call.socket.end();
  }
  for (const client of kept) assert.match((await client.ended).text, terminal);
  await Promise.all(open.map((call) => call.socket.destroyed || once(call.socket, 'close')));
}

test('[F29] [F13] half of many open streams cancelled at once: all settled, memory back to where it was', async () => {
  await using gateway = await MeasuredGateway.start();
  const key = await gateway.key();
  const idle = await gateway.measure();
  // The first storm pays for compiled code and pools; what the second one leaves behind would be a leak.
  await storm(gateway, key);
  const atRest = ({ sockets, timers }: Measurement): boolean => sockets <= idle.sockets && timers <= idle.timers;
  const before = await gateway.measureWhen(atRest);
  await storm(gateway, key);
  const leftPerStream = ({ heapBytes }: Measurement): number => (heapBytes - before.heapBytes) / STREAMS;
  // What waits for the request log or for a compiler goes by itself, what leaks does not.
  await gateway.measureWhen((now) => atRest(now) && leftPerStream(now) < LEFT_PER_STREAM_BYTES_MAX);

  const audit = await gateway.admin.audit();
  assert.deepEqual(audit.findings, []);
  assert.equal(audit.live_holds, 0);
  const { requests, reserved, input_tokens, output_tokens, used } = await gateway.admin.showKey(key.id);
  assert.equal(reserved, 0);
  assert.equal(requests, STREAMS, 'those that finished, and no cancelled one');
  assert.deepEqual([input_tokens, output_tokens], [STREAMS * INPUT_TOKENS, STREAMS * OUTPUT_TOKENS]);
  const finishedCredits = (STREAMS * (INPUT_TOKENS * 1 + OUTPUT_TOKENS * 4)) / 1e6;
  assert.ok(used > finishedCredits, 'what the cancelled ones had produced is charged too');
});
