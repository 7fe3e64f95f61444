/** The playground: requests of operators through the public listener, on a key that may spend one credit a day. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { call, withGateway } from '../../support/started-gateway.ts';

const gateway = await withGateway();
const secret = readFileSync(join(gateway.dataDir, 'admin.secret'), 'utf8').trim();
const admin = (path: string, body?: object): Promise<Response> =>
  call(`http://127.0.0.1:${gateway.adminPort}/admin/v1${path}`, { key: secret, ...(body !== undefined && { body }) });

const messages = [{ role: 'user', content: 'Hello!' }];
const CHAT = { format: 'chat', body: { model: 'sandbox/alpha', max_tokens: 20, messages } };
const KEY = 'key_playground';

interface State {
  readonly key_id: string | null;
  readonly daily_credit: number;
  readonly left_today: number;
}

interface ModelState {
  readonly id: string;
  readonly targets: readonly {
    readonly provider: string;
    readonly upstream_model: string;
    readonly format: string;
    readonly weight?: number;
  }[];
}

async function state(): Promise<State> {
  return (await (await admin('/playground')).json()) as State;
}

/** The status that the public listener gave. */
async function send(body: object): Promise<string | null> {
  const answer = await admin('/playground', body);
  assert.equal(answer.status, 200);
  await answer.text();
  return answer.headers.get('x-playground-status');
}

describe('the playground', () => {
  test('has no key before it is used, and one credit a day however many begin at once', async () => {
    assert.deepEqual(await state(), { ...(await state()), key_id: null, daily_credit: 1, left_today: 1 });
    const statuses = await Promise.all(Array.from({ length: 8 }, () => send(CHAT)));
    assert.deepEqual(statuses, Array(8).fill('200'));
    const key = await gateway.admin.showKey(KEY);
    assert(key.mode === 'credit');
    assert.equal(key.credit, 1);
    assert.equal(key.requests, 8);
    assert.equal((await state()).left_today, Number((1 - key.used).toFixed(9)));
    assert.equal(await send(CHAT), '200');
    const after = await gateway.admin.showKey(KEY);
    assert(after.mode === 'credit');
    assert.equal(after.credit, 1, 'nothing is added twice on a day');
  });

  test('streams as the listener does, says which request it was, and is in the audit trail', async () => {
    const answer = await admin('/playground', { ...CHAT, body: { ...CHAT.body, stream: true } });
    assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/);
    assert.match(await answer.text(), /data: \[DONE\]/);
    const id = answer.headers.get('x-playground-request-id') ?? '';
    assert.match(id, /^req_/);
    const { data } = await gateway.admin.auditTrail({ limit: 1 });
    assert.deepEqual(
      [data[0]?.action, data[0]?.outcome, data[0]?.after],
      [
        'playground.send',
        'done',
        { format: 'chat', model: 'sandbox/alpha', own_key: true, status: 200, request_id: id },
      ],
    );
  });

  test('what the listener refuses comes as it is', async () => {
    const poor = await gateway.creditKey({ credit: '0.000001' });
    assert.equal(await send({ ...CHAT, key: poor.key }), '402');
    assert.equal(await send({ format: 'messages', body: { model: 'no/such', max_tokens: 5, messages } }), '404');
  });

  test('every format, and another key where one is given', async () => {
    const other = await gateway.tokenKey();
    assert.equal(await send({ ...CHAT, key: other.key }), '200');
    assert.equal((await gateway.admin.showKey(other.id)).requests, 1);
    assert.equal(await send({ format: 'messages', body: { model: 'sandbox/beta', max_tokens: 20, messages } }), '200');
    assert.equal(await send({ format: 'responses', body: { model: 'sandbox/alpha', input: 'Hi' } }), '200');
  });

  test('bad input is refused with its field', async () => {
    const cases: readonly (readonly [object, RegExp])[] = [
      [{ ...CHAT, format: 'xml' }, /format/],
      [{ format: 'chat' }, /body/],
      [{ ...CHAT, body: 'text' }, /body/],
      [{ ...CHAT, key: 'mg_c_wrong' }, /not an API key/],
    ];
    for (const [body, message] of cases) {
      const answer = await admin('/playground', body);
      assert.equal(answer.status, 400);
      assert.match(await answer.text(), message);
    }
  });

  test('a suspended key of the playground says so; a revoked one is replaced', async () => {
    await gateway.admin.changeKey(KEY, { status: 'suspended' });
    const answer = await admin('/playground', CHAT);
    assert.equal(answer.status, 409);
    assert.match(await answer.text(), /key_playground, is suspended: resume it/);
    await gateway.admin.changeKey(KEY, { status: 'revoked' });
    assert.equal(await send(CHAT), '200');
    assert.equal((await state()).key_id, `${KEY}_2`);
  });

  test('one target can be tried by itself', async () => {
    const { data } = (await (await admin('/models')).json()) as { data: readonly ModelState[] };
    const { id, targets = [] } = data.find((model) => model.id === 'sandbox/alpha') ?? {};
    const [first] = targets;
    const { weight: _weight, ...name } = first ?? {};
    const wanted = { model: id, ...name };
    const answer = await admin('/targets/test', wanted);
    assert.equal(answer.status, 200);
    assert.match(await answer.text(), /"state":"ok"/);
    assert.equal((await admin('/targets/test', { ...wanted, provider: 'nobody' })).status, 400);
    assert.equal((await admin('/targets/test', { ...wanted, model: 'nothing' })).status, 400);
  });
});
