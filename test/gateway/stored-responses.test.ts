/** Responses that the gateway keeps: who can refer to them, for how long, and what a reference that fails comes to. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import { startPostgres } from '../support/postgres.ts';
import { auditClean, errorReply, refusal, usage, visit } from '../support/requests.ts';
import { COUNTS_EXACTLY, call, startedGateway, withGateway } from '../support/started-gateway.ts';

interface Item {
  readonly id: string;
  readonly type: string;
  readonly [name: string]: unknown;
}

interface Stored {
  readonly id: string;
  readonly store: boolean;
  readonly previous_response_id: string | null;
  readonly output: readonly Item[];
  readonly usage: { readonly input_tokens: number };
}

const gateway = await withGateway({ config: COUNTS_EXACTLY });
const small = await withGateway({
  config: JSON.stringify({
    responses: { record_bytes: 4_096, key_bytes: 8_192 },
    limits: { body_bytes: 8_192 },
  }),
});
const off = await withGateway({ config: 'responses: { store: false }' });

async function create(key: CreatedKey, input: unknown, extra: object = {}): Promise<Stored> {
  const response = await post(key, input, extra);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text) as Stored;
}

function post(key: CreatedKey, input: unknown, extra: object = {}): Promise<Response> {
  return visit(key, 'responses', { body: { model: 'sandbox/alpha', input, ...extra } });
}

function refused(response: Promise<Response>) {
  return refusal(response, 'responses', 400, 'invalid_request');
}

function stored(key: CreatedKey, id: string, method = 'GET'): Promise<Response> {
  return call(`${key.origin}/v1/responses/${encodeURIComponent(id)}`, { method, key: key.key });
}

async function used(key: CreatedKey): Promise<number> {
  return (await usage(key)).credits.used;
}

const messageOf = (response: Stored): Item => {
  const item = response.output.find(({ type }) => type === 'message');
  assert.ok(item);
  return item;
};

describe('[R64] who can refer to a response', () => {
  test('the key that received it, and no other', async () => {
    const [mine, other] = [await gateway.creditKey(), await gateway.creditKey()];
    const first = await create(mine, 'Hello');
    assert.equal(first.store, true);
    const before = await used(other);
    const previous = await refused(post(other, 'Hi', { previous_response_id: first.id }));
    assert.equal(previous.param, 'previous_response_id');
    const item = await refused(post(other, [{ type: 'item_reference', id: messageOf(first).id }]));
    assert.equal(item.param, 'input[0].id');
    for (const method of ['GET', 'DELETE']) {
      const error = await errorReply(await stored(other, first.id, method), 'A');
      assert.deepEqual([error.status, error.code], [404, 'not_found']);
    }
    assert.equal(await used(other), before, 'nothing was charged');
    const second = await create(mine, 'Hi', { previous_response_id: first.id });
    assert.equal(second.previous_response_id, first.id);
    assert.ok(second.usage.input_tokens > first.usage.input_tokens, 'the charge is for the expanded input');
    await auditClean(gateway);
  });

  test('nobody, once it is deleted, or where it never was', async () => {
    const key = await gateway.creditKey();
    const first = await create(key, 'Hello');
    const second = await create(key, 'Hi', { previous_response_id: first.id });
    const deleted = await stored(key, first.id, 'DELETE');
    assert.deepEqual(await deleted.json(), { id: first.id, object: 'response', deleted: true });
    for (const previous_response_id of [first.id, second.id, 'resp_forged', 'a b', '../usage', '']) {
      const error = await refused(post(key, 'x', { previous_response_id }));
      assert.equal(error.param, 'previous_response_id');
    }
    for (const id of [messageOf(first).id, 'msg_forged', '', 'ü', 7]) {
      const error = await refused(
        post(key, [
          { role: 'user', content: 'x' },
          { type: 'item_reference', id },
        ]),
      );
      assert.equal(error.param, 'input[1].id');
    }
    for (const id of [first.id, 'resp_forged', '%', 'a/b', 'x'.repeat(500), '..']) {
      assert.equal((await stored(key, id)).status, 404, id);
      assert.equal((await stored(key, id, 'DELETE')).status, 404, id);
    }
    assert.equal((await call(`${key.origin}/v1/responses/%E0%A4%A`, { key: key.key })).status, 404);
    assert.equal((await call(`${key.origin}/v1/responses/`, { key: key.key })).status, 404);
    assert.equal((await call(`${key.origin}/v1/responses/${second.id}/else`, { key: key.key })).status, 404);
  });

  test('a conversation object is refused, and the refusal names what there is instead', async () => {
    const key = await gateway.creditKey();
    for (const conversation of ['conv_1', { id: 'conv_1' }]) {
      const error = await refused(post(key, 'x', { conversation }));
      assert.equal(error.param, 'conversation');
      assert.match(error.message, /previous_response_id/);
    }
    assert.equal((await post(key, 'x', { conversation: null, previous_response_id: null })).status, 200);
  });
});

describe('[R64] GET and DELETE of a response', () => {
  test('serve the record as its client got it, at both origins, and charge nothing', async () => {
    for (const key of [await gateway.creditKey(), await gateway.tokenKey()]) {
      for (const model of ['sandbox/alpha', 'sandbox/beta']) {
        const whole = await create(key, 'Hello [[thinking]]', { model, metadata: { a: 'b' } });
        const before = await usage(key);
        assert.deepEqual(await (await stored(key, whole.id)).json(), whole);
        const streamed = await (await post(key, 'Hello [[thinking]] again', { model, stream: true })).text();
        const last = /data: (\{"type":"response\.completed".*\})\n/.exec(streamed)?.[1] ?? '';
        const { response } = JSON.parse(last) as { response: Stored };
        const created = /data: (\{"type":"response\.created".*\})\n/.exec(streamed)?.[1] ?? '';
        assert.equal((JSON.parse(created) as { response: Stored }).response.id, response.id);
        assert.deepEqual(await (await stored(key, response.id)).json(), response);
        assert.equal((await stored(key, whole.id, 'DELETE')).status, 200);
        assert.equal((await stored(key, whole.id)).status, 404);
        const after = await usage(key);
        assert.equal(after.requests.total, before.requests.total + 1);
      }
    }
    await auditClean(gateway);
  });

  test('take their place in the rate limit', async () => {
    const key = await gateway.creditKey({ rpm_limit: 3 });
    const { id } = await create(key, 'Hello');
    const read = await stored(key, id);
    assert.equal(read.headers.get('x-ratelimit-remaining-requests'), '1');
    assert.equal((await stored(key, 'resp_none', 'DELETE')).status, 404);
    for (const method of ['GET', 'DELETE']) assert.equal((await stored(key, id, method)).status, 429);
  });

  test('need the key’s own origin, and a bearer credential', async () => {
    const key = await gateway.creditKey();
    const { id } = await create(key, 'Hello');
    for (const method of ['GET', 'DELETE']) {
      const path = `/v1/responses/${id}`;
      const elsewhere = await call(`${gateway.origin}/token${path}`, { method, key: key.key });
      assert.deepEqual([elsewhere.status, (await errorReply(elsewhere, 'A')).code], [403, 'key_disabled']);
      const byHeader = await call(gateway.origin + path, { method, headers: { 'x-api-key': key.key } });
      assert.equal(byHeader.status, 401);
      assert.equal((await call(gateway.origin + path, { method })).status, 401);
    }
    assert.equal((await stored(key, id)).status, 200);
  });
});

describe('[R64] what is kept', () => {
  test('nothing with store: false, whole and streamed; what it refers to is used all the same', async () => {
    const key = await gateway.creditKey();
    const first = await create(key, 'Hello');
    for (const model of ['sandbox/alpha', 'sandbox/beta']) {
      const unstored = await create(key, 'Hi', { model, store: false, previous_response_id: first.id });
      assert.deepEqual([unstored.store, unstored.previous_response_id], [false, first.id]);
      assert.equal((await stored(key, unstored.id)).status, 404);
      assert.equal((await post(key, 'x', { previous_response_id: unstored.id })).status, 400);
      const text = await (
        await post(key, 'Hi', { model, store: false, stream: true, previous_response_id: first.id })
      ).text();
      assert.doesNotMatch(text, /"store":true|"previous_response_id":null/);
    }
  });

  test('nothing of an answer that broke', async () => {
    const key = await gateway.creditKey();
    const text = await (await post(key, '[[tokens=50]] [[fail-after=5]]', { stream: true })).text();
    const id = /"id":"(resp_[^"]+)"/.exec(text)?.[1] ?? '';
    assert.match(text, /event: response\.failed/);
    assert.equal((await stored(key, id)).status, 404);
    await auditClean(gateway);
  });

  test('a response that ended at its limit', async () => {
    const key = await gateway.creditKey();
    const cut = await create(key, '[[tokens=50]]', { max_output_tokens: 16 });
    assert.equal((await stored(key, cut.id)).status, 200);
    await create(key, 'go on', { previous_response_id: cut.id });
  });

  test('the repeat of an idempotent request is the answer that was kept', async () => {
    const key = await gateway.creditKey();
    const first = await create(key, 'Hello');
    const headers = { 'idempotency-key': 'one' };
    const body = { model: 'sandbox/alpha', input: 'Hi', previous_response_id: first.id };
    const [answer, again] = [
      await visit(key, 'responses', { body, headers }),
      await visit(key, 'responses', { body, headers }),
    ];
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    const text = await answer.text();
    assert.equal(await again.text(), text);
    assert.deepEqual(await (await stored(key, (JSON.parse(text) as Stored).id)).json(), JSON.parse(text));
  });

  test('an order of another conversation does not disturb this one', async () => {
    const key = await gateway.creditKey();
    const root = await create(key, 'Hello');
    const left = await create(key, 'left [[tokens=3]]', { previous_response_id: root.id });
    await create(key, 'right [[tokens=3]]', { previous_response_id: root.id });
    const echoed = await create(key, 'all of it [[echo]]', { previous_response_id: left.id });
    const text = JSON.stringify(echoed.output);
    assert.match(text, /left/);
    assert.doesNotMatch(text, /right/);
  });
});

describe('[R64] limits', () => {
  test('what is longer than the window with what it refers to is refused, and not charged', async () => {
    const key = await gateway.creditKey();
    const long = 'the quick brown fox '.repeat(300);
    const model = 'sandbox/tiny';
    const first = await create(key, `${long} [[tokens=5]]`, { model });
    const before = await used(key);
    const response = post(key, `${long} [[tokens=5]]`, { model, previous_response_id: first.id });
    await refusal(response, 'responses', 400, 'context_length_exceeded');
    assert.equal(await used(key), before);
    await auditClean(gateway);
  });

  test('what is larger than a body with what it refers to is refused, and not charged', async () => {
    const key = await small.creditKey();
    let last = await create(key, `${'a'.repeat(2_500)} [[tokens=2]]`);
    last = await create(key, `${'b'.repeat(2_500)} [[tokens=2]]`, { previous_response_id: last.id });
    const before = await used(key);
    const error = await refused(post(key, 'c'.repeat(4_000), { previous_response_id: last.id }));
    assert.match(error.message, /larger than 8192 bytes with what it refers to/);
    assert.equal(await used(key), before);
    await auditClean(small);
  });

  test('a response that is too large says store: false; its items can be referred to where they are small', async () => {
    const key = await small.creditKey();
    for (const stream of [false, true]) {
      const text = await (await post(key, `${'x'.repeat(5_000)} [[tokens=5]] ${stream}`, { stream })).text();
      const terminal = stream ? (/event: response\.completed\ndata: (.*)\n/.exec(text)?.[1] ?? '') : text;
      assert.match(terminal, /"store":false/);
      const [, id = ''] = /"id":"(resp_[^"]+)"/.exec(terminal) ?? [];
      const [, itemId = ''] = /"id":"(msg_[^"]+)"/.exec(terminal) ?? [];
      assert.equal((await stored(key, id)).status, 404);
      await refused(post(key, 'x', { previous_response_id: id }));
      const referring = [
        { type: 'item_reference', id: itemId },
        { role: 'user', content: '[[tokens=2]]' },
      ];
      assert.equal((await post(key, referring)).status, 200);
    }
    const large = await create(key, '[[tokens=2000]]');
    assert.equal(large.store, false);
    await refused(post(key, [{ type: 'item_reference', id: messageOf(large).id }]));
  });

  test('the oldest responses of a key leave when it has too many', async () => {
    const key = await small.creditKey();
    const kept: Stored[] = [];
    for (let turn = 0; turn < 6; turn++) kept.push(await create(key, `${'y'.repeat(1_000)} [[tokens=2]] ${turn}`));
    const statuses = await Promise.all(kept.map(async ({ id }) => (await stored(key, id)).status));
    assert.equal(statuses[0], 404);
    assert.equal(statuses.at(-1), 200);
    assert.deepEqual(statuses, statuses.toSorted().reverse(), 'only the oldest are gone');
  });
});

describe('[R64] a gateway that stores nothing', () => {
  test('answers with store: false, and refuses references by saying so', async () => {
    const key = await off.creditKey();
    for (const extra of [{}, { store: true }, { model: 'sandbox/beta' }]) {
      const answer = await create(key, 'Hello', extra);
      assert.equal(answer.store, false);
      assert.equal((await stored(key, answer.id)).status, 404);
      const error = await refused(post(key, 'x', { previous_response_id: answer.id }));
      assert.equal(error.param, 'previous_response_id');
      assert.match(error.message, /store: false/);
    }
    const item = await refused(post(key, [{ type: 'item_reference', id: 'msg_1' }]));
    assert.match(item.message, /store: false/);
  });
});

test('[R64] a conversation goes on at whichever worker it meets', async () => {
  await using postgres = await startPostgres();
  const DATABASE_URL = postgres.url(await postgres.createDatabase());
  await using workers = await startedGateway({ env: { DATABASE_URL, GATEWAY_WORKERS: '2' } });
  const key = await workers.creditKey();
  let previous = await create(key, 'Hello');
  for (let turn = 0; turn < 6; turn++) {
    const next = await create(key, `turn ${turn} [[tokens=2]]`, { previous_response_id: previous.id });
    assert.ok(next.usage.input_tokens > previous.usage.input_tokens);
    previous = next;
  }
  assert.equal((await stored(key, previous.id, 'DELETE')).status, 200);
  assert.equal((await stored(key, previous.id)).status, 404);
  await auditClean(workers);
});

test('[R11] a reference that is refused has taken its place in the rate limit', async () => {
  const key = await gateway.creditKey({ rpm_limit: 1 });
  const refusedOne = await post(key, 'x', { previous_response_id: 'resp_forged' });
  assert.equal(refusedOne.status, 400);
  assert.equal(refusedOne.headers.get('x-ratelimit-remaining-requests'), '0');
  assert.equal((await post(key, 'x')).status, 429);
});

test('[R1] the responses of a revoked key cannot be reached', async () => {
  const key: CreatedKey = await gateway.creditKey();
  const { id } = await create(key, 'Hello');
  await gateway.admin.changeKey(key.id, { status: 'revoked' });
  assert.equal((await stored(key, id)).status, 401);
});
