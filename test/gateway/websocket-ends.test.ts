/** How responses over a WebSocket end before their end, and connections with them. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import { certificateOfLocalhost } from '../support/certificate.ts';
import { auditClean } from '../support/requests.ts';
import { type ScriptedGateway, scriptedGateway, settled } from '../support/scripted-gateway.ts';
import { SocketClient, webSocketOf } from '../support/socket-client.ts';
import { startedGateway } from '../support/started-gateway.ts';
import type { ScriptedCall } from '../support/upstreams/scripted.ts';
import { INPUT_TOKENS, OUTPUT_TOKENS, SPEECH, spoken } from '../support/upstreams/spoken.ts';

const { opening, text, closing } = SPEECH.responses;
const MODEL = { model: 'tested' };

async function scripted(options: Parameters<typeof scriptedGateway>[0] = {}): Promise<ScriptedGateway> {
  const started = await scriptedGateway(options);
  after(async () => {
    await auditClean(started.gateway);
    await started[Symbol.asyncDispose]();
  });
  return started;
}

const { gateway, first } = await scripted({ limits: { body_bytes: 65_536 } });

/** A response that has begun, with its provider. */
async function begun(client: SocketClient, said = 'Hello'): Promise<ScriptedCall> {
  client.create(said, MODEL);
  const call = await first.next();
  call.streamHead();
  for (const frame of [...opening, text('Some words')]) call.chunk(frame);
  let event = await client.next();
  while (event.type !== 'response.output_text.delta') event = await client.next();
  return call;
}

function finish(call: ScriptedCall): void {
  for (const frame of closing) call.chunk(frame);
  call.finish();
}

describe('[R80] [F13] a client that goes away', () => {
  for (const mode of ['credit', 'token_budget'] as const) {
    for (const how of ['closes', 'vanishes'] as const) {
      test(`${mode}: ${how} in the middle: the provider is closed at once, what was produced is charged, without a usage record`, async () => {
        const key: CreatedKey = mode === 'credit' ? await gateway.creditKey() : await gateway.tokenKey();
        await using client = await SocketClient.open(key);
        const call = await begun(client);
        // What waits behind it never begins.
        client.create('Two', MODEL);
        if (how === 'closes') client.webSocket.close(1000, 'enough');
        else client.webSocket.terminate();
        await call.closed;
        const { used, requests, reserved } = await settled(gateway, key);
        assert.ok(used > 0);
        assert.deepEqual([requests, reserved], [0, 0]);
      });
    }
  }
});

describe('[R80] [F14] a client that does not read', () => {
  test('holds its provider up, and nothing is lost when it reads on', async () => {
    const key = await gateway.creditKey();
    await using client = await SocketClient.open(key);
    client.create('Hello', MODEL);
    const call = await first.next();
    client.webSocket.pause();
    call.streamHead();
    for (const frame of opening) call.chunk(frame);
    const word = text('y'.repeat(32_000));
    let sent = 0;
    // Far more than the buffers on the way can hold.
    while (!call.socket.writableNeedDrain && sent < 3_000) {
      for (let i = 0; i < 50; i++) call.chunk(word);
      sent += 50;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.ok(sent < 3_000, 'the provider could send everything: nothing held it up');
    client.webSocket.resume();
    if (call.socket.writableNeedDrain) await once(call.socket, 'drain');
    finish(call);
    const events = await client.answer();
    assert.equal(events.filter(({ type }) => type === 'response.output_text.delta').length, sent);
    assert.equal(events.at(-1)?.type, 'response.completed');
    assert.equal((await settled(gateway, key)).requests, 1);
  });

  test('and goes on asking for what is refused is cut off', async () => {
    await using client = await SocketClient.open(await gateway.creditKey());
    client.webSocket.pause();
    const input = 'x'.repeat(60_000);
    const steer = JSON.stringify({ type: 'response.steer', previous_response_id: 'resp_1', input });
    const gone = once(client.webSocket, 'close');
    let isGone = false;
    void gone.then(() => {
      isGone = true;
    });
    for (let sent = 0; !isGone && sent < 2_000; sent++) {
      client.webSocket.send(steer);
      if (client.webSocket.bufferedAmount > 1_000_000) await new Promise((resolve) => setTimeout(resolve, 20));
    }
    client.webSocket.resume();
    await gone;
  });
});

describe('[R80] what cannot be read', () => {
  test('a message that is too large is a 413 event; the response that runs goes on, and then it closes', async () => {
    const key = await gateway.creditKey();
    await using client = await SocketClient.open(key);
    const call = await begun(client);
    client.create('x'.repeat(70_000), { ...MODEL, stream_id: 'large' });
    const error = await client.refused();
    assert.deepEqual([error.status, error.code], [413, 'request_too_large']);
    const closed = client.closed();
    finish(call);
    await client.completed();
    assert.equal((await closed)[0], 1009);
    assert.equal((await settled(gateway, key)).requests, 1);
  });

  for (const [name, bytes, code] of [
    ['a frame that is not masked', Buffer.from([0x81, 0x02, 0x7b, 0x7d]), 1002],
    ['a reserved bit, as of a compression that was not agreed on', Buffer.from([0xc1, 0x80, 0, 0, 0, 0]), 1002],
    ['a reserved opcode', Buffer.from([0x83, 0x80, 0, 0, 0, 0]), 1002],
    ['a fragment of nothing', Buffer.from([0x80, 0x80, 0, 0, 0, 0]), 1002],
    ['text that is not UTF-8', Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0xff]), 1007],
    [
      'a length beyond every bound',
      Buffer.from([0x81, 0xff, 0x7f, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0]),
      1009,
    ],
  ] as const) {
    test(`${name}: closed with ${code}`, async () => {
      const webSocket = webSocketOf(await gateway.creditKey());
      const client = new SocketClient(webSocket);
      const upgraded = once(webSocket, 'upgrade');
      await once(webSocket, 'open');
      const [{ socket }] = await upgraded;
      socket.write(bytes);
      assert.equal((await client.closed())[0], code);
    });
  }

  test('compression is not agreed on, whoever offers it', async () => {
    await using client = await SocketClient.open(await gateway.creditKey(), { perMessageDeflate: true });
    assert.equal(client.webSocket.extensions, '');
  });
});

test('[R80] [F9] a drain closes idle connections with 1001, the others after the response that runs', async () => {
  await using other = await scriptedGateway({ limits: { drain: 300 } });
  const key = await other.gateway.creditKey();
  await using idle = await SocketClient.open(key);
  await using busy = await SocketClient.open(key);
  busy.create('Hello', MODEL);
  const call = await other.first.next();
  call.streamHead();
  for (const frame of opening) call.chunk(frame);
  await busy.next();
  busy.create('Two', { ...MODEL, stream_id: 'waiting' });
  const [idleClosed, busyClosed] = [idle.closed(), busy.closed()];
  const stopped = other.gateway.stop();
  assert.equal((await idleClosed)[0], 1001);
  const refused = (await busy.answer()).at(-1);
  assert.deepEqual(
    [refused?.status, refused?.error?.code, refused?.stream_id],
    [503, 'service_unavailable', 'waiting'],
  );
  for (const frame of [text('the end'), ...closing]) call.chunk(frame);
  call.finish();
  await busy.completed();
  assert.equal((await busyClosed)[0], 1001);
  await stopped;
  assert.equal(other.first.calls, 1);
});

test('[R80] [F15] a provider that breaks off: the failure is an event of the stream, and the next one is served', async () => {
  const key = await gateway.creditKey();
  await using client = await SocketClient.open(key);
  const call = await begun(client);
  call.reset();
  const events = await client.answer();
  assert.equal(events.at(-1)?.type, 'response.failed');
  client.create('Two', MODEL);
  (await first.next()).stream(spoken('responses', 'Fine'));
  const { usage } = await client.completed();
  assert.deepEqual([usage?.input_tokens, usage?.output_tokens], [INPUT_TOKENS, OUTPUT_TOKENS]);
  client.create('Three', MODEL);
  (await first.next()).reply(500, { error: { message: 'broken' } });
  const error = await client.refused();
  assert.deepEqual([error.status, error.code], [502, 'upstream_error']);
  assert.equal((await settled(gateway, key)).requests, 2);
});

test('[R65] encrypted reasoning of a response that is not kept goes back to its provider, and not to the client', async () => {
  const scene = await scripted({ model: { capabilities: { reasoning: true } } });
  const key = await scene.gateway.creditKey();
  await using client = await SocketClient.open(key);
  client.create('Hello', { ...MODEL, store: false, reasoning: { effort: 'low' } });
  const call = await scene.first.next();
  assert.deepEqual(call.body.include, ['reasoning.encrypted_content']);
  const reasoning = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'sealed by the provider' };
  const frames = spoken('responses', 'Fine').map((frame) =>
    frame.includes('response.completed')
      ? frame.replace('"output":[', `"output":[${JSON.stringify(reasoning)},`)
      : frame,
  );
  call.stream(frames);
  const events = await client.answer();
  assert.ok(!JSON.stringify(events).includes('sealed by the provider'));
  const previous = events.at(-1)?.response?.id;
  client.create('More', { ...MODEL, store: false, previous_response_id: previous });
  const next = await scene.first.next();
  assert.match(JSON.stringify(next.body.input), /sealed by the provider/);
  next.stream(spoken('responses', 'Fine'));
  await client.completed();
});

test('[R80] over TLS', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-websocket-'));
  const { cert, key: privateKey } = certificateOfLocalhost();
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  await writeFile(files.cert, cert);
  await writeFile(files.key, privateKey);
  try {
    await using secure = await startedGateway({ config: JSON.stringify({ tls: files }) });
    const key = await secure.tokenKey();
    assert.match(key.origin, /^https:/);
    await using client = await SocketClient.open(key, { ca: cert, checkServerIdentity: () => false });
    await client.create('Hello').completed();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
