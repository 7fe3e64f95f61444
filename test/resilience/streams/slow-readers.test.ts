/** Many clients that do not read: each holds up its own provider connection, and the gateway buffers next to nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MeasuredGateway } from '../../support/measured-gateway.ts';
import { ClientStream } from '../../support/scripted-gateway.ts';
import type { ScriptedCall } from '../../support/upstreams/scripted.ts';
import { SPEECH } from '../../support/upstreams/spoken.ts';

const CLIENTS = 50;
const FRAME = SPEECH.chat.text('y'.repeat(32_000));
/** Far more than the socket buffers on the way can hold: 96 MB for each client. */
const FRAMES_MAX = 3_000;
/** A provider that could not send for so long is held up. */
const PATIENCE_MS = 2_000;
const HELD_PER_CLIENT_BYTES_MAX = 1_024 * 1_024;

/** Sends until the gateway takes no more; how many frames were sent, with those before. */
async function sendUntilStuck(call: ScriptedCall, before: number): Promise<number> {
  for (let sent = before; ; ) {
    while (sent < FRAMES_MAX && !call.socket.writableNeedDrain) {
      call.chunk(FRAME);
      sent++;
    }
    if (sent === FRAMES_MAX) return sent;
    const patience = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => patience.resolve(false), PATIENCE_MS);
    const drained = new Promise<boolean>((resolve) => call.socket.once('drain', () => resolve(true)));
    const goesOn = await Promise.race([drained, patience.promise]);
    clearTimeout(timer);
    if (!goesOn) return sent;
  }
}

test('[F14] 50 clients that do not read hold up 50 providers; what the gateway keeps for each is bounded', async () => {
  await using gateway = await MeasuredGateway.start();
  const key = await gateway.key();
  const before = await gateway.measure();
  const clients = Array.from(
    { length: CLIENTS },
    () => new ClientStream(key, 'chat', SPEECH.chat.request({ stream: true, max_tokens: 100 })),
  );
  const calls: ScriptedCall[] = [];
  for (const _ of clients) calls.push(await gateway.provider.next());
  for (const call of calls) {
    call.streamHead({ connection: 'close' });
    call.chunk(SPEECH.chat.opening.join(''));
  }
  await Promise.all(clients.map((client) => client.begun));

  let sent: readonly number[] = calls.map(() => 0);
  // On a busy machine the gateway itself may rest for longer than a provider's patience: then it goes on.
  do sent = await Promise.all(calls.map((call, index) => sendUntilStuck(call, sent[index] ?? 0)));
  while (calls.some(({ socket }) => !socket.writableNeedDrain) && sent.every((frames) => frames < FRAMES_MAX));
  for (const [index, call] of calls.entries()) {
    assert.ok((sent[index] ?? 0) < FRAMES_MAX, 'a provider could send everything: nothing held it up');
    assert.ok(call.socket.writableLength > 0, 'the rest waits at the provider');
  }
  const held = await gateway.measure();
  const heldPerClient = (held.heapBytes - before.heapBytes) / CLIENTS;
  assert.ok(heldPerClient < HELD_PER_CLIENT_BYTES_MAX, `${Math.round(heldPerClient)} bytes are kept for each client`);

  // A held-up client is served on when it reads; the others go away, and their providers are let go at once.
  const [reader, ...others] = clients;
  const [served, ...left] = calls;
  assert.ok(reader && served);
  for (const client of others) client.close();
  await Promise.all(left.map((call) => call.closed));
  reader.read();
  if (served.socket.writableNeedDrain) await new Promise((resolve) => served.socket.once('drain', resolve));
  for (const frame of SPEECH.chat.closing) served.chunk(frame);
  served.finish();
  const { text, complete } = await reader.ended;
  assert.equal(complete, true);
  assert.match(text, SPEECH.chat.terminal);
  assert.equal(text.split('y'.repeat(32_000)).length - 1, sent[0], 'every frame arrived, whole and once');

  await gateway.measureWhen(({ timers }) => timers <= before.timers);
  const audit = await gateway.admin.audit();
  assert.deepEqual(audit.findings, []);
  assert.equal(audit.live_holds, 0);
  assert.equal((await gateway.admin.showKey(key.id)).requests, 1);
});
