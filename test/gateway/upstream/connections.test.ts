/** Requests that are no proper HTTP, and clients that never finish theirs: refused and closed, the others unhurt. */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import {
  ask,
  assertUncharged,
  type ScriptedGateway,
  scriptedGateway,
  settled,
  streamed,
} from '../../support/scripted-gateway.ts';
import { SPEECH, spoken } from '../../support/upstreams/spoken.ts';

let fixture: ScriptedGateway;
let key: CreatedKey;

before(async () => {
  fixture = await scriptedGateway();
  fixture.first.answer = (call) => call.reply(200, SPEECH.chat.whole('Hi'));
});

after(() => fixture[Symbol.asyncDispose]());

const BODY = JSON.stringify(SPEECH.chat.request());

function head(lines: readonly string[], end = '\r\n'): string {
  const url = new URL(key.origin + SPEECH.chat.path);
  return [
    `POST ${url.pathname} HTTP/1.1`,
    `host: ${url.host}`,
    `authorization: Bearer ${key.key}`,
    'content-type: application/json',
    ...lines,
    '',
    '',
  ].join(end);
}

function dial(): Socket {
  const { hostname, port } = new URL(key.origin);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  return socket;
}

/** Everything that the gateway answers until it closes the connection by itself. */
async function answerTo(bytes: string): Promise<string> {
  const socket = dial();
  socket.write(bytes);
  return text(socket);
}

describe('a request that is not proper HTTP', () => {
  const length = `content-length: ${BODY.length}`;
  const cases: Readonly<Record<string, () => string>> = {
    'Content-Length beside Transfer-Encoding': () =>
      `${head([length, 'transfer-encoding: chunked'])}${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`,
    'Content-Length twice': () => head([length, length]) + BODY,
    'two Content-Lengths that differ': () => head([length, 'content-length: 3']) + BODY,
    'bare line feeds': () => head([length], '\n') + BODY,
    'a line feed alone in one header': () => head([`x-a: b\nx-c: d`, length]) + BODY,
    '2,000 headers': () => head([...Array.from({ length: 2_000 }, (_, i) => `x-${i}: y`), length]) + BODY,
    'headers of 1 MB, while they are still being sent': () => head([`x-long: ${'a'.repeat(1_000_000)}`, length]) + BODY,
    'headers of 40 KB': () => head([`x-long: ${'a'.repeat(40_000)}`, length]) + BODY,
    'a negative Content-Length': () => head(['content-length: -1']) + BODY,
    'an unknown transfer coding': () => head(['transfer-encoding: gzip, identity']) + BODY,
  };
  for (const [what, bytes] of Object.entries(cases)) {
    test(`[F25] ${what}: 400 and closed, nothing is asked or held`, async () => {
      key = await fixture.gateway.tokenKey();
      const calls = fixture.first.calls;
      const answer = await answerTo(bytes());
      assert.match(answer, /^HTTP\/1\.1 400 /);
      assert.match(answer, /\r\nx-request-id: req_[0-9a-f]{32}\r\n/i);
      assert.match(answer, /"code":"invalid_request"/);
      assert.equal(answer.split('HTTP/1.1 ').length, 2, 'one answer, and no second request read out of the first');
      assert.equal((await ask(key, 'chat')).status, 200);
      assert.equal(fixture.first.calls, calls + 1);
      assert.equal((await settled(fixture.gateway, key)).requests, 1);
    });
  }

  test('[F25] too many headers and a long body: the answer arrives, and what follows on the connection is not served', async () => {
    key = await fixture.gateway.tokenKey();
    const many = Array.from({ length: 300 }, (_, i) => `x-${i}: y`);
    const long = ' '.repeat(1_000_000);
    const answer = await answerTo(
      `${head([...many, `content-length: ${BODY.length + long.length}`])}${BODY}${long}${head([length])}${BODY}`,
    );
    assert.match(answer, /^HTTP\/1\.1 400 [\s\S]*more than 200 headers/);
    assert.equal(answer.split('HTTP/1.1 ').length, 2);
    await assertUncharged(fixture.gateway, key);
  });

  test('a client that closes in the middle of its body costs nothing', async () => {
    key = await fixture.gateway.tokenKey();
    const calls = fixture.first.calls;
    const socket = dial();
    socket.write(head([length]) + BODY.slice(0, 10));
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.destroy();
    await assertUncharged(fixture.gateway, key);
    assert.equal(fixture.first.calls, calls);
  });
});

describe('a client that sends too slowly', () => {
  test('[F24] its headers or its body: closed, and nothing else is hurt', async () => {
    await using fixture = await scriptedGateway({ limits: { headers_timeout: 0.2, body_timeout: 0.4 } });
    key = await fixture.gateway.tokenKey();
    const running = streamed(key, 'chat');
    const call = await fixture.first.next();
    call.streamHead();
    call.chunk(SPEECH.chat.opening.join(''));
    await running.until(/assistant/);
    fixture.first.answer = (call) => call.reply(200, SPEECH.chat.whole('Hi'));

    const calls = fixture.first.calls;
    const slowHeaders = answerTo(head([]).slice(0, 40));
    const slowBody = answerTo(head([`content-length: ${BODY.length}`]) + BODY.slice(0, 10));
    const both = Promise.all([slowHeaders, slowBody]);
    let asked = 0;
    let waiting = true;
    void both.finally(() => {
      waiting = false;
    });
    while (waiting) {
      assert.equal((await ask(key, 'chat')).status, 200);
      asked += 1;
    }
    for (const answer of await both) assert.match(answer, /^HTTP\/1\.1 400 [\s\S]*sent too slowly/);
    assert.equal(fixture.first.calls, calls + asked);

    for (const frame of spoken('chat', 'still here').slice(1)) call.chunk(frame);
    call.finish();
    assert.match((await running.ended).text, SPEECH.chat.terminal);
    assert.equal((await settled(fixture.gateway, key)).requests, asked + 1);
  });
});
