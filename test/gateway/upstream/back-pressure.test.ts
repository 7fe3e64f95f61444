/** A client that reads slowly: the provider is held up, the gateway's memory is not its buffer. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ClientStream, scriptedGateway, settled, withinTime } from '../../support/scripted-gateway.ts';
import type { ScriptedCall } from '../../support/upstreams/scripted.ts';
import { SPEECH } from '../../support/upstreams/spoken.ts';

const FRAME = SPEECH.chat.text('y'.repeat(32_000));
/** Far more than all socket buffers on the way can hold. */
const FRAMES_MAX = 4_000;

/** Sends frames until the gateway has not taken one for a whole second; how many were sent. */
async function sendUntilStuck(call: ScriptedCall): Promise<number> {
  for (let sent = 1; sent <= FRAMES_MAX; sent++) {
    if (call.chunk(FRAME)) continue;
    const drained = new Promise<boolean>((resolve) => call.socket.once('drain', () => resolve(true)));
    const patience = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => patience.resolve(false), 1_000);
    const goesOn = await Promise.race([drained, patience.promise]);
    clearTimeout(timer);
    if (!goesOn) return sent;
  }
  return FRAMES_MAX;
}

describe('a slow reader', () => {
  test('[F14] holds the provider up, and goes on where it was when it reads again', async () => {
    await using fixture = await scriptedGateway({ streams: { keep_alive: 0.05 } });
    const key = await fixture.gateway.tokenKey();
    const client = new ClientStream(key, 'chat', SPEECH.chat.request({ stream: true }));
    const call = await fixture.first.next();
    call.streamHead();
    call.chunk(SPEECH.chat.opening.join(''));
    await client.begun;
    const sent = await sendUntilStuck(call);
    assert.ok(sent < FRAMES_MAX, 'the provider could send everything: nothing held it up');
    assert.ok(call.socket.writableLength > 0, 'the rest waits at the provider');

    client.read();
    await new Promise((resolve) => call.socket.once('drain', resolve));
    for (const frame of SPEECH.chat.closing) call.chunk(frame);
    call.finish();
    const { text, complete } = await client.ended;
    assert.equal(complete, true);
    assert.match(text, SPEECH.chat.terminal);
    assert.equal(text.split('y'.repeat(32_000)).length - 1, sent, 'every frame arrived, whole and once');
    assert.equal((await settled(fixture.gateway, key)).requests, 1);
  });

  test('[F14] [R48] is cut when its time is up, and what was produced is billed', async () => {
    await withinTime([2, 20], async (total) => {
      await using fixture = await scriptedGateway({ streams: { total } });
      const key = await fixture.gateway.tokenKey();
      const client = new ClientStream(key, 'chat', SPEECH.chat.request({ stream: true }));
      const call = await Promise.race([fixture.first.next(), client.begun.then(() => null)]);
      call?.streamHead();
      call?.chunk(SPEECH.chat.opening.join(''));
      if ((await client.begun).statusCode !== 200 || call === null) return false;
      await sendUntilStuck(call);
      await call.closed;
      const { used, requests } = await settled(fixture.gateway, key);
      assert.ok(used > 0);
      assert.equal(requests, 0, 'billed like a cancellation: no usage record');
      client.read();
      const { complete, text } = await client.ended;
      assert.equal(complete && SPEECH.chat.terminal.test(text), false, 'it cannot be taken for a complete answer');
      return true;
    });
  });

  test('[F13] [F14] that goes away while the provider is held up: closed at once, the rest is not waited for', async () => {
    await using fixture = await scriptedGateway();
    const key = await fixture.gateway.tokenKey();
    const client = new ClientStream(key, 'chat', SPEECH.chat.request({ stream: true }));
    const call = await fixture.first.next();
    call.streamHead();
    call.chunk(SPEECH.chat.opening.join(''));
    await client.begun;
    await sendUntilStuck(call);
    client.close();
    await call.closed;
    const { used, requests } = await settled(fixture.gateway, key);
    assert.ok(used > 0);
    assert.equal(requests, 0);
  });

  test('that never reads a complete answer does not keep the connection to the provider', async () => {
    await using fixture = await scriptedGateway();
    const key = await fixture.gateway.tokenKey();
    const client = new ClientStream(key, 'chat', SPEECH.chat.request({ stream: true }));
    const call = await fixture.first.next();
    call.streamHead();
    call.chunk(SPEECH.chat.opening.join('') + SPEECH.chat.text('z'.repeat(60_000)) + SPEECH.chat.closing.join(''));
    call.finish();
    await client.begun;
    await settled(fixture.gateway, key);
    client.close();
    const again = new ClientStream(key, 'chat', SPEECH.chat.request({ stream: true })).read();
    const second = await fixture.first.next();
    assert.equal(second.socket, call.socket, 'the connection is free for the next request');
    second.stream([...SPEECH.chat.opening, ...SPEECH.chat.closing]);
    await again.ended;
    await settled(fixture.gateway, key);
  });
});
