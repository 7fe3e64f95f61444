/** The same Idempotency-Key again: one run, one charge, and an answer that says what became of the first try. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import { ENDPOINTS, type EndpointName } from '../../src/core/endpoints.ts';
import {
  account,
  accountWhen,
  auditClean,
  bodyOf,
  type ErrorReply,
  GENERATIONS,
  rawCall,
  readError,
  refusal,
  usage,
  visit,
} from '../support/requests.ts';
import { startedGateway, withGatedGateway } from '../support/started-gateway.ts';

const { gateway, upstream } = await withGatedGateway();
let names = 0;

function newName(): string {
  names += 1;
  return `try-${names}`;
}

function ask(key: CreatedKey, route: EndpointName, name: string, said = 'Hi', extra: object = {}): Promise<Response> {
  return visit(key, route, { body: bodyOf(route, said, extra), headers: { 'Idempotency-Key': name } });
}

async function conflict(
  response: Response | Promise<Response>,
  route: EndpointName,
  code: 'idempotency_conflict' | 'idempotency_in_flight',
): Promise<ErrorReply> {
  const error = await refusal(response, route, 409, code);
  assert.equal(error.type, ENDPOINTS[route].envelope === 'A' ? 'invalid_request_error' : 'conflict_error');
  assert.equal(error.headers.get('x-should-retry'), code === 'idempotency_conflict' ? 'false' : null);
  return error;
}

const GATED = { model: 'gated/one', max_tokens: 50 };

describe('a finished request', () => {
  for (const route of GENERATIONS) {
    for (const stream of [false, true]) {
      test(`[R20] [R21] ${route}, ${stream ? 'streamed' : 'whole'}: replayed byte for byte, at no charge, under a new request id`, async () => {
        for (const key of [await gateway.creditKey(), await gateway.tokenKey()]) {
          const name = newName();
          const first = await ask(key, route, name, 'Tell me', { stream });
          const bytes = Buffer.from(await first.arrayBuffer());
          const charged = await account(gateway, key);
          assert.equal(first.headers.get('idempotent-replayed'), null);
          for (let again = 0; again < 2; again++) {
            const second = await ask(key, route, name, 'Tell me', { stream });
            assert.equal(second.status, 200);
            assert.equal(second.headers.get('idempotent-replayed'), 'true');
            assert.equal(second.headers.get('content-type'), first.headers.get('content-type'));
            assert.equal(second.headers.get('cache-control'), first.headers.get('cache-control'));
            assert.notEqual(second.headers.get('x-request-id'), first.headers.get('x-request-id'));
            assert.deepEqual(Buffer.from(await second.arrayBuffer()), bytes);
          }
          assert.deepEqual(await account(gateway, key), charged);
          assert.equal((await gateway.admin.showKey(key.id)).requests, 1);
        }
        await auditClean(gateway);
      });
    }
  }

  test('[R21] the provider is not called again', async () => {
    const key = await gateway.creditKey();
    const name = newName();
    const asked = ask(key, 'chat', name, 'once', GATED);
    (await upstream.next()).answer();
    const first = await (await asked).text();
    const { arrivals } = upstream;
    assert.equal(await (await ask(key, 'chat', name, 'once', GATED)).text(), first);
    assert.equal(upstream.arrivals, arrivals);
    await auditClean(gateway);
  });

  test('[R20] it is replayed even where the balance would not cover it a second time', async () => {
    const key = await gateway.creditKey({ credit: '0.001' });
    const name = newName();
    const extra = { max_tokens: 200 };
    const first = await (await ask(key, 'chat', name, '[[tokens=200]]', extra)).text();
    await refusal(
      visit(key, 'chat', { body: bodyOf('chat', '[[tokens=200]]', extra) }),
      'chat',
      402,
      'insufficient_credit',
    );
    const second = await ask(key, 'chat', name, '[[tokens=200]]', extra);
    assert.equal(await second.text(), first);
    await auditClean(gateway);
  });

  test('[R25] it survives a restart, and so does the conflict', async () => {
    const started = await startedGateway();
    const key = await started.creditKey();
    const bytes = await (await ask(key, 'messages', 'kept', 'Tell me', { stream: true })).text();
    await started.stop();
    const again = await startedGateway({ dataDir: started.dataDir });
    const moved = { ...key, origin: again.origin };
    const replay = await ask(moved, 'messages', 'kept', 'Tell me', { stream: true });
    assert.equal(replay.headers.get('idempotent-replayed'), 'true');
    assert.equal(await replay.text(), bytes);
    await conflict(ask(moved, 'messages', 'kept', 'Something else'), 'messages', 'idempotency_conflict');
    assert.equal((await usage(moved)).requests.total, 1);
    await auditClean(again);
    await again.stop();
    await started[Symbol.asyncDispose]();
  });
});

describe('a request still running', () => {
  test('[F21] [R22] the same key at once: one runs, the others get a 409', async () => {
    const key = await gateway.creditKey();
    const name = newName();
    const { arrivals } = upstream;
    let others = 0;
    const answers = Array.from({ length: 20 }, async () => {
      const response = await ask(key, 'chat', name, 'at once', GATED);
      if (response.status === 200) return response.text();
      const error = await conflict(response, 'chat', 'idempotency_in_flight');
      assert.equal(error.headers.get('retry-after'), '1');
      others += 1;
      if (others === 19) (await upstream.next()).answer();
      return null;
    });
    const done = (await Promise.all(answers)).filter((answer) => answer !== null);
    assert.equal(done.length, 1);
    assert.equal(upstream.arrivals, arrivals + 1);
    assert.equal(await (await ask(key, 'chat', name, 'at once', GATED)).text(), done[0]);
    assert.equal((await usage(key)).requests.total, 1);
    await auditClean(gateway);
  });

  test('[F21] [R20] two customers with the same string do not meet', async () => {
    const name = newName();
    const keys = [await gateway.creditKey(), await gateway.creditKey(), await gateway.tokenKey()];
    for (const [index, key] of keys.entries()) {
      const response = await ask(key, 'chat', name, `customer ${index}`);
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('idempotent-replayed'), null);
    }
    await auditClean(gateway);
  });
});

describe('another request under the same key', () => {
  test('[F21] [R20] [R23] [R27] another body, path or only another space is a conflict', async () => {
    const key = await gateway.creditKey();
    const body = JSON.stringify(bodyOf('chat'));
    for (const route of GENERATIONS) {
      const name = newName();
      const headers = { 'Idempotency-Key': name };
      assert.equal((await visit(key, route, { headers })).status, 200);
      const error = await conflict(ask(key, route, name, 'Another'), route, 'idempotency_conflict');
      assert.match(error.message, /another request/);
      for (const other of GENERATIONS) {
        if (other !== route) await conflict(visit(key, other, { headers }), other, 'idempotency_conflict');
      }
    }
    const headers = { 'Idempotency-Key': newName() };
    assert.equal((await visit(key, 'chat', { headers, body })).status, 200);
    // The very same bytes are a request of another format too.
    await conflict(visit(key, 'messages', { headers, body }), 'messages', 'idempotency_conflict');
    await conflict(visit(key, 'chat', { headers, body: `${body} ` }), 'chat', 'idempotency_conflict');
    assert.equal((await visit(key, 'chat', { headers, body })).headers.get('idempotent-replayed'), 'true');
    await auditClean(gateway);
  });

  test('[R23] also while the first still runs', async () => {
    const key = await gateway.creditKey();
    const name = newName();
    const first = ask(key, 'chat', name, 'first', GATED);
    const gated = await upstream.next();
    await conflict(ask(key, 'chat', name, 'second', GATED), 'chat', 'idempotency_conflict');
    gated.answer();
    assert.equal((await first).status, 200);
    await auditClean(gateway);
  });
});

describe('a repeat', () => {
  test('[R75] is answered as one though parallel requests and the balance are used up', async () => {
    const key = await gateway.creditKey({ parallel_limit: 1 });
    const name = newName();
    const first = ask(key, 'chat', name, 'first', GATED);
    const gated = await upstream.next();
    await conflict(ask(key, 'chat', name, 'first', GATED), 'chat', 'idempotency_in_flight');
    await refusal(ask(key, 'chat', newName(), 'first', GATED), 'chat', 429, 'rate_limit_exceeded');
    gated.answer();
    assert.equal((await first).status, 200);
    const { remaining } = await gateway.admin.showKey(key.id);
    await gateway.admin.money.correct(key.id, { amount: `-${remaining}`, reason: 'nothing is left' });
    const replay = await ask(key, 'chat', name, 'first', GATED);
    assert.deepEqual([replay.status, replay.headers.get('idempotent-replayed')], [200, 'true']);
    await refusal(ask(key, 'chat', newName(), 'first', GATED), 'chat', 402, 'insufficient_credit');
    await auditClean(gateway);
  });
});

describe('a first try that did not complete', () => {
  for (const route of GENERATIONS) {
    test(`[R24] ${route}: what ended without a charge frees the key`, async () => {
      const key = await gateway.creditKey();
      const name = newName();
      await refusal(ask(key, route, name, '[[status=500]]'), route, 502, 'upstream_error');
      await refusal(ask(key, route, name, '[[status=500]]', { stream: true }), route, 502, 'upstream_error');
      await refusal(ask(key, route, name, '[[fail-after=2]]'), route, 502, 'upstream_error');
      assert.equal((await gateway.admin.showKey(key.id)).used, 0);
      const response = await ask(key, route, name, 'Now another');
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('idempotent-replayed'), null);
      await auditClean(gateway);
    });

    test(`[R24] ${route}: a stream that broke after content was charged and cannot be replayed`, async () => {
      const key = await gateway.creditKey();
      const name = newName();
      const said = '[[tokens=20]] [[fail-after=3]]';
      await (await ask(key, route, name, said, { stream: true })).text();
      const { used } = await accountWhen(gateway, key, ({ live_holds }) => live_holds === 0);
      assert.ok(used > 0);
      const error = await conflict(ask(key, route, name, said, { stream: true }), route, 'idempotency_conflict');
      assert.match(error.message, /charged/);
      assert.match(error.message, /cannot be replayed/);
      assert.equal((await gateway.admin.showKey(key.id)).used, used);
      await auditClean(gateway);
    });
  }

  test('[R24] refusals before the hold leave the key free', async () => {
    const key = await gateway.creditKey({ credit: '0' });
    const name = newName();
    await refusal(ask(key, 'chat', name), 'chat', 402, 'insufficient_credit');
    await refusal(ask(key, 'chat', name, 'Hi', { model: 'none' }), 'chat', 404, 'model_not_found');
    await refusal(ask(key, 'chat', name, 'Hi', { temperature: 'hot' }), 'chat', 400, 'invalid_request');
    await gateway.admin.addCredit(key.id, { amount: '1' });
    assert.equal((await ask(key, 'chat', name)).status, 200);
    await auditClean(gateway);
  });

  test('[R24] cancelled before the provider answered: no charge, and the key is free', async () => {
    const key = await gateway.creditKey();
    const name = newName();
    const cancel = new AbortController();
    const asked = fetchChat(key, name, cancel.signal);
    const gated = await upstream.next();
    cancel.abort();
    await assert.rejects(asked);
    await gated.closed;
    const view = await accountWhen(gateway, key, ({ live_holds }) => live_holds === 0);
    assert.equal(view.used, 0);
    const again = ask(key, 'chat', name, 'cancel me', { ...GATED, stream: true });
    const second = await upstream.next();
    second.begin();
    second.finish();
    assert.equal((await again).status, 200);
    await (await again).text();
    await auditClean(gateway);
  });

  test('[R24] cancelled mid-stream: charged, and a repeat reports it', async () => {
    const key = await gateway.creditKey();
    const name = newName();
    const cancel = new AbortController();
    const asked = fetchChat(key, name, cancel.signal);
    const gated = await upstream.next();
    gated.begin();
    const response = await asked;
    const reader = response.body?.getReader();
    assert.ok(reader && !(await reader.read()).done);
    cancel.abort();
    await gated.closed;
    const view = await accountWhen(gateway, key, ({ live_holds }) => live_holds === 0);
    assert.ok(view.used > 0);
    assert.equal(view.requests, 0, 'no usage record is written for a cancelled call');
    const repeat = ask(key, 'chat', name, 'cancel me', { ...GATED, stream: true });
    const error = await conflict(repeat, 'chat', 'idempotency_conflict');
    assert.match(error.message, /charged but did not complete, so it cannot be replayed/);
    assert.equal((await gateway.admin.showKey(key.id)).used, view.used);
    await auditClean(gateway);
  });
});

function fetchChat(key: CreatedKey, name: string, signal: AbortSignal): Promise<Response> {
  return fetch(`${key.base_url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/json', 'Idempotency-Key': name },
    body: JSON.stringify(bodyOf('chat', 'cancel me', { ...GATED, stream: true })),
    signal,
  });
}

describe('what is kept', () => {
  test('[R25] an answer over 1 MiB is not: a repeat reports why and is not charged', async () => {
    const key = await gateway.creditKey();
    const name = newName();
    const first = await ask(key, 'chat', name, '[[tokens=8000]]', { stream: true });
    assert.ok((await first.arrayBuffer()).byteLength > 1024 * 1024);
    const charged = await account(gateway, key);
    const repeat = ask(key, 'chat', name, '[[tokens=8000]]', { stream: true });
    const error = await conflict(repeat, 'chat', 'idempotency_conflict');
    assert.match(error.message, /too large/);
    assert.deepEqual(await account(gateway, key), charged);
    await auditClean(gateway);
  });

  test('[R25] an answer just under 1 MiB is', async () => {
    const key = await gateway.creditKey();
    const name = newName();
    const first = await (await ask(key, 'chat', name, '[[tokens=3000]]', { stream: true })).text();
    assert.ok(first.length > 512 * 1024 && first.length < 1024 * 1024, `${first.length}`);
    assert.equal(await (await ask(key, 'chat', name, '[[tokens=3000]]', { stream: true })).text(), first);
    await auditClean(gateway);
  });

  test('[R25] past the budget of the process for such buffers nothing is kept, and the buffers come back', async () => {
    await using small = await startedGateway({ config: 'limits: { reply_buffer_bytes: 2048 }' });
    const key = await small.creditKey();
    for (const said of ['[[tokens=800]]', '[[tokens=801]]']) {
      assert.equal((await ask(key, 'chat', said, said)).status, 200);
      const error = await conflict(ask(key, 'chat', said, said), 'chat', 'idempotency_conflict');
      assert.match(error.message, /too large to be kept/);
    }
    const bytes = await (await ask(key, 'chat', 'small', 'Hi')).text();
    assert.equal(await (await ask(key, 'chat', 'small', 'Hi')).text(), bytes);
    await auditClean(small);
  });
});

describe('the header', () => {
  test('[R26] empty, over 255 characters or repeated: 400 that names it, nothing charged', async () => {
    const key = await gateway.creditKey();
    const untouched = await account(gateway, key);
    for (const route of GENERATIONS) {
      const { path, envelope } = ENDPOINTS[route];
      for (const values of [[''], ['x'.repeat(256)], ['a', 'a'], ['a', 'b']]) {
        const headers = values.map((value) => ['Idempotency-Key', value] as const);
        const reply = await rawCall(key.origin + path, {
          method: 'POST',
          headers: [['authorization', `Bearer ${key.key}`], ['content-type', 'application/json'], ...headers],
          body: JSON.stringify(bodyOf(route)),
        });
        const error = readError(reply.status, reply.headers, reply.text, envelope);
        assert.deepEqual([error.status, error.code, error.param], [400, 'invalid_request', 'Idempotency-Key']);
      }
    }
    assert.deepEqual(await account(gateway, key), untouched);
  });

  test('[R26] 1 and 255 characters are taken', async () => {
    const key = await gateway.creditKey();
    for (const name of ['x', 'y'.repeat(255)]) {
      assert.equal((await ask(key, 'chat', name)).status, 200);
      assert.equal((await ask(key, 'chat', name)).headers.get('idempotent-replayed'), 'true');
    }
    await auditClean(gateway);
  });

  test('two long names that differ in their last character are two names', async () => {
    const key = await gateway.creditKey();
    const stem = 'z'.repeat(254);
    assert.equal((await ask(key, 'chat', `${stem}1`, 'one')).status, 200);
    const second = await ask(key, 'chat', `${stem}2`, 'two');
    assert.equal(second.status, 200);
    assert.equal(second.headers.get('idempotent-replayed'), null);
  });
});
