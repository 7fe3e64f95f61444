/** Failover, circuits and key pools of the whole gateway, in front of servers that fail as they are told. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { storeFile } from '../../../src/admin/data-folder.ts';
import { type Log, NO_LOG } from '../../../src/core/log.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { openSyncStore } from '../../../src/ledger/sqlite/engine.ts';
import { FIRST_SEEN_DOCUMENT } from '../../../src/process/first-seen.ts';
import { configFileIn } from '../../support/gateway-environment.ts';
import {
  ask,
  assertUncharged,
  errorOf,
  scriptedGateway,
  secretOf,
  settled,
  streamed,
} from '../../support/scripted-gateway.ts';
import { call, startedGateway } from '../../support/started-gateway.ts';
import type { ScriptedCall } from '../../support/upstreams/scripted.ts';
import { FORMAT_NAMES, INPUT_TOKENS, OUTPUT_TOKENS, SPEECH, spoken } from '../../support/upstreams/spoken.ts';

function serves(format: (typeof FORMAT_NAMES)[number]): (call: ScriptedCall) => void {
  return (call) => {
    if (call.body.stream === true) call.stream(spoken(format, 'Hi'));
    else call.reply(200, SPEECH[format].whole('Hi'));
  };
}

const overloaded = (call: ScriptedCall): void => call.reply(503, { error: { message: 'overloaded' } });

describe('failover', () => {
  const faults: Readonly<Record<string, (call: ScriptedCall) => void>> = {
    'a reset before the first byte': (call) => call.reset(),
    'a 500': (call) => call.reply(500, { error: { message: 'oops' } }),
    'a 429': (call) => call.reply(429, { error: { message: 'slow down' } }, { 'retry-after': '30' }),
    'a 401': (call) => call.reply(401, { error: { message: 'bad key' } }),
    'a 404': (call) => call.reply(404, { error: { message: 'no such model' } }),
    'an HTML page': (call) => call.reply(200, '<html></html>', { 'content-type': 'text/html' }),
  };
  for (const [what, fault] of Object.entries(faults)) {
    test(`[F15] [F20] ${what}: the next target serves, the attempts are told, one charge`, async () => {
      await using fixture = await scriptedGateway({ servers: 2, routing: { max_attempts: 2 } });
      fixture.first.answer = fault;
      fixture.second.answer = serves('chat');
      const key = await fixture.gateway.tokenKey();
      for (const stream of [false, true]) {
        const { status, headers, text } = await ask(key, 'chat', { stream });
        assert.equal(status, 200);
        assert.match(text, /Hi/);
        assert.equal(
          headers['x-gateway-attempts'],
          stream && /a 4[02]/.test(what) && !what.includes('404') ? '1' : '2',
        );
      }
      const { used, requests } = await settled(fixture.gateway, key);
      assert.deepEqual([used, requests], [2 * (INPUT_TOKENS + OUTPUT_TOKENS), 2]);
    });
  }

  for (const format of FORMAT_NAMES) {
    test(`[R47] an error as the first event of a stream goes to the next target (${format})`, async () => {
      await using fixture = await scriptedGateway({ servers: 2, routing: { max_attempts: 2 } });
      fixture.first.answer = (call) => {
        call.streamHead();
        call.chunk(SPEECH[format].overloaded);
      };
      fixture.second.answer = serves(format);
      const key = await fixture.gateway.tokenKey();
      const { status, text, headers } = await ask(key, format, { stream: true });
      assert.equal(status, 200);
      assert.doesNotMatch(text, /verloaded/);
      assert.match(text, SPEECH[format].terminal);
      assert.equal(headers['x-gateway-attempts'], '2');
      assert.equal((await settled(fixture.gateway, key)).used, INPUT_TOKENS + OUTPUT_TOKENS);
    });

    test(`[R31] [R47] an error as the first event is a real status where there is no other target (${format})`, async () => {
      await using fixture = await scriptedGateway();
      fixture.first.answer = (call) => {
        call.streamHead();
        call.chunk(SPEECH[format].overloaded);
      };
      const key = await fixture.gateway.tokenKey();
      const { status, code } = errorOf(await ask(key, format, { stream: true }));
      assert.deepEqual([status, code], [502, 'provider_unavailable']);
      await assertUncharged(fixture.gateway, key);
    });
  }

  test('[R31] a 400 is the client’s own: told as it is, tried nowhere else', async () => {
    await using fixture = await scriptedGateway({ servers: 2, routing: { max_attempts: 2 } });
    fixture.first.answer = (call) => call.reply(400, { error: { message: `bad temperature for ${secretOf('one')}` } });
    const key = await fixture.gateway.tokenKey();
    const { status, code, message } = errorOf(await ask(key, 'chat'));
    assert.deepEqual([status, code, message], [400, 'invalid_request', 'bad temperature for [redacted]']);
    assert.equal(fixture.second.calls, 0);
    await assertUncharged(fixture.gateway, key);
  });

  test('the same target is asked again where it is the only one', async () => {
    await using fixture = await scriptedGateway({ routing: { max_attempts: 3 } });
    const key = await fixture.gateway.tokenKey();
    const answer = ask(key, 'chat');
    (await fixture.first.next()).reset();
    overloaded(await fixture.first.next());
    serves('chat')(await fixture.first.next());
    const { status, headers } = await answer;
    assert.deepEqual([status, headers['x-gateway-attempts']], [200, '3']);
    await settled(fixture.gateway, key);
  });

  test('never after content was sent, whatever breaks', async () => {
    await using fixture = await scriptedGateway({ servers: 2, routing: { max_attempts: 2 } });
    const key = await fixture.gateway.tokenKey();
    const client = streamed(key, 'messages');
    const broken = await fixture.first.next();
    broken.streamHead();
    broken.chunk(SPEECH.messages.opening.join(''));
    await client.until(/message_start/);
    broken.reset();
    assert.match((await client.ended).text, SPEECH.messages.inBandFailure);
    assert.equal(fixture.second.calls, 0);
    await settled(fixture.gateway, key);
  });

  test('[R6] a scoped key uses only the targets of its provider, in failover too', async () => {
    await using fixture = await scriptedGateway({ servers: 2, routing: { max_attempts: 3 } });
    fixture.first.answer = overloaded;
    fixture.second.answer = serves('chat');
    const scoped = await fixture.gateway.tokenKey({ provider_scope: 'one' });
    const { status, code } = errorOf(await ask(scoped, 'chat'));
    assert.deepEqual([status, code], [502, 'provider_unavailable']);
    assert.equal(fixture.second.calls, 0);
    const free = await fixture.gateway.tokenKey();
    assert.equal((await ask(free, 'chat')).status, 200);
    await assertUncharged(fixture.gateway, scoped);
  });
});

describe('what a provider says about itself', () => {
  for (const status of [401, 403, 429, 500]) {
    test(`[F20] its key in the body of a ${status} reaches neither the client nor the log`, async () => {
      const lines: string[] = [];
      const note = (fields: object, message: string): void => {
        lines.push(JSON.stringify(fields) + message);
      };
      const log: Log = { ...NO_LOG, info: note, warn: note, error: note };
      await using fixture = await scriptedGateway({ log });
      const body = { error: { message: `Incorrect API key provided: ${secretOf('one')}` } };
      fixture.first.answer = (call) => call.reply(status, body);
      const key = await fixture.gateway.tokenKey();
      const { text } = await ask(key, 'chat');
      assert.doesNotMatch(text, /secret-0123/);
      assert.doesNotMatch(lines.join('\n'), /secret-0123/);
      if (status < 404) assert.match(lines.join('\n'), /look at the configuration of this provider/);
      await assertUncharged(fixture.gateway, key);
    });
  }

  test('[R61] nothing of its headers passes but the content type', async () => {
    await using fixture = await scriptedGateway();
    const strange = {
      'x-request-id': 'theirs',
      'set-cookie': 'a=b',
      'openai-organization': 'acme',
      'x-ratelimit-remaining-requests': '3',
      'anthropic-ratelimit-unified-status': 'allowed',
      server: 'theirs',
    };
    fixture.first.answer = (call) => {
      if (call.body.stream !== true) call.reply(200, SPEECH.messages.whole('Hi'), strange);
      else {
        call.streamHead({ ...strange, 'content-type': 'text/event-stream; charset=utf-8' });
        call.chunk(spoken('messages', 'Hi').join(''));
        call.finish();
      }
    };
    const key = await fixture.gateway.tokenKey();
    for (const stream of [false, true]) {
      const { headers } = await ask(key, 'messages', { stream });
      assert.doesNotMatch(JSON.stringify(headers), /theirs|a=b|acme|allowed/);
      assert.equal(headers['x-ratelimit-remaining-requests'], undefined);
      if (stream) assert.equal(headers['content-type'], 'text/event-stream; charset=utf-8');
    }
    await settled(fixture.gateway, key);
  });

  test('what the client sends as credentials and its other headers stay here', async () => {
    await using fixture = await scriptedGateway();
    const key = await fixture.gateway.tokenKey();
    const answer = call(key.origin + SPEECH.chat.path, {
      key: key.key,
      headers: { cookie: 'session=1', 'x-forwarded-for': '10.0.0.1', 'openai-organization': 'mine' },
      body: SPEECH.chat.request(),
    });
    const seen = await fixture.first.next();
    serves('chat')(seen);
    assert.equal((await answer).status, 200);
    assert.equal(seen.headers.get('authorization'), `Bearer ${secretOf('one')}`);
    for (const name of ['cookie', 'x-forwarded-for', 'openai-organization', 'x-api-key']) {
      assert.equal(seen.headers.has(name), false, name);
    }
    await settled(fixture.gateway, key);
  });
});

describe('the circuit', () => {
  test('[R31] opens after ten failures; then nothing is asked of the only target', async () => {
    await using fixture = await scriptedGateway();
    fixture.first.answer = overloaded;
    const key = await fixture.gateway.tokenKey();
    for (let i = 0; i < 10; i++) assert.equal((await ask(key, 'chat')).status, 502);
    assert.equal(fixture.first.calls, 10);
    const answer = await ask(key, 'chat');
    const { status, code, message } = errorOf(answer);
    assert.deepEqual([status, code], [502, 'provider_unavailable']);
    assert.match(message, /failed too often/);
    assert.equal(answer.headers['x-gateway-attempts'], undefined);
    assert.equal(fixture.first.calls, 10);
    await assertUncharged(fixture.gateway, key);
  });

  test('never opens where the provider is configured without one', async () => {
    await using fixture = await scriptedGateway({ provider: { circuit_breaker: false } });
    fixture.first.answer = overloaded;
    const key = await fixture.gateway.tokenKey();
    for (let i = 0; i < 15; i++) assert.equal((await ask(key, 'chat')).status, 502);
    assert.equal(fixture.first.calls, 15);
    await assertUncharged(fixture.gateway, key);
  });

  test('never opens by 400s or by clients that go away', async () => {
    await using fixture = await scriptedGateway();
    const key = await fixture.gateway.tokenKey();
    for (let i = 0; i < 15; i++) {
      const client = streamed(key, 'chat');
      const asked = await fixture.first.next();
      client.close();
      await asked.closed;
      const answer = ask(key, 'chat');
      (await fixture.first.next()).reply(400, { error: { message: 'no' } });
      assert.equal((await answer).status, 400);
    }
    const answer = ask(key, 'chat');
    serves('chat')(await fixture.first.next());
    assert.equal((await answer).status, 200);
    await settled(fixture.gateway, key);
  });

  test('of one target leaves the traffic to the other, without failed attempts', async () => {
    await using fixture = await scriptedGateway({ servers: 2, routing: { max_attempts: 2 } });
    fixture.first.answer = overloaded;
    fixture.second.answer = serves('chat');
    const key = await fixture.gateway.tokenKey();
    for (let i = 0; i < 10; i++) assert.equal((await ask(key, 'chat')).headers['x-gateway-attempts'], '2');
    assert.equal((await ask(key, 'chat')).headers['x-gateway-attempts'], '1');
    assert.equal(fixture.first.calls, 10);
    await settled(fixture.gateway, key);
  });
});

describe('a pool of keys', () => {
  test('[F20] is used in turn, and a key that is refused or used up rests', async () => {
    const provider = { api_key: undefined, api_keys: ['sk-pool-a-0001', 'sk-pool-b-0002'] };
    await using fixture = await scriptedGateway({ provider, routing: { max_attempts: 2, cache_affinity: false } });
    const seen: (string | undefined)[] = [];
    fixture.first.answer = (call) => {
      const credential = call.headers.get('authorization');
      seen.push(credential?.slice('Bearer sk-pool-'.length, 'Bearer sk-pool-'.length + 1));
      if (credential?.includes('-a-')) call.reply(429, { error: { message: 'limit' } });
      else serves('chat')(call);
    };
    const key = await fixture.gateway.tokenKey();
    for (let i = 0; i < 3; i++) assert.equal((await ask(key, 'chat')).status, 200);
    assert.deepEqual(seen, ['a', 'b', 'b', 'b']);
    await settled(fixture.gateway, key);
  });
});

describe('what the operator reads', () => {
  test('a failed attempt is logged with the request and the key that it was made for', async () => {
    const logged: Record<string, unknown>[] = [];
    const keep = (fields: object): void => {
      logged.push({ ...fields });
    };
    await using fixture = await scriptedGateway({ log: { ...NO_LOG, warn: keep, error: keep } });
    const key = await fixture.gateway.creditKey();
    for (const fault of [overloaded, (call: ScriptedCall) => call.reply(401, { error: { message: 'bad key' } })]) {
      logged.length = 0;
      fixture.first.answer = fault;
      const { headers } = await ask(key, 'chat');
      const line = logged.find(({ condition }) => condition !== undefined);
      assert.deepEqual([line?.requestId, line?.keyId, line?.provider], [headers['x-request-id'], key.id, 'one']);
    }
  });

  test("[R69] a provider's own counter gets only the fields that it documents", async () => {
    await using fixture = await scriptedGateway({ provider: { count_tokens: true, formats: ['messages'] } });
    let sent: Readonly<Record<string, unknown>> = {};
    fixture.first.answer = (arrived) => {
      sent = arrived.body;
      arrived.reply(200, { input_tokens: 42 });
    };
    const key = await fixture.gateway.creditKey();
    const body = {
      model: 'tested',
      messages: [{ role: 'user', content: 'Hello' }],
      system: 'Be brief.',
      thinking: { type: 'enabled', budget_tokens: 2_000 },
      max_tokens: 'many',
      stream: true,
      speed: 'fast',
      metadata: { user_id: 'u' },
    };
    const counted = await call(`${key.origin}/v1/messages/count_tokens`, { key: key.key, body });
    assert.deepEqual(await counted.json(), { input_tokens: 42 });
    assert.deepEqual(Object.keys(sent).sort(), ['messages', 'model', 'system', 'thinking']);
  });

  test('[R57] a configured model is as old as the day on which it was first seen, also after a restart', async () => {
    await using fixture = await scriptedGateway();
    const { gateway } = fixture;
    const createdOf = async (origin: string, key: string): Promise<number> => {
      const response = await call(`${origin}/v1/models`, { key });
      const { data } = (await response.json()) as { data: { id: string; created: number }[] };
      return data.find(({ id }) => id === 'tested')?.created ?? 0;
    };
    const { key } = await gateway.creditKey();
    const created = await createdOf(gateway.origin, key);
    assert.ok(Math.abs(created - Date.now() / 1_000) < 600, String(created));
    await gateway.stop();
    // As if it had been there for years.
    const store = openSyncStore({ file: storeFile(gateway.dataDir) });
    const ledger = createLedger(store);
    assert.equal(JSON.parse((await ledger.getDocument(FIRST_SEEN_DOCUMENT))?.value ?? '{}').tested, created);
    await ledger.putDocument(FIRST_SEEN_DOCUMENT, JSON.stringify({ tested: 1_700_000_000 }));
    await ledger.close();
    const config = await readFile(configFileIn(gateway.dataDir), 'utf8');
    await using again = await startedGateway({ dataDir: gateway.dataDir, config });
    assert.equal(await createdOf(again.origin, key), 1_700_000_000);
  });
});
