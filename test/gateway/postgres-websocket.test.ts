/** WebSockets of two gateways on one PostgreSQL: what touches money and what is remembered is the same through both. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import { auditClean, usage } from '../support/requests.ts';
import { eventually, runScene, spoken, stopPostgres } from '../support/run-scene.ts';
import { SocketClient } from '../support/socket-client.ts';
import { INPUT_TOKENS, OUTPUT_TOKENS } from '../support/upstreams/spoken.ts';

after(stopPostgres);

const MODEL = { model: 'tested' };
/** In credits: 1 and 4 for a million tokens. */
const COST = (INPUT_TOKENS * 1 + OUTPUT_TOKENS * 4) / 1e6;
const { opening, text, closing } = spoken();
const SPOKEN = [...opening, text('Hi'), ...closing];

/** A connection of the key to each of two gateways. */
async function pair(settings: object, keyInput: Record<string, unknown> = {}) {
  const scene = await runScene({ engine: 'postgres', settings });
  const other = await scene.another();
  const key: CreatedKey = await scene.gateway.creditKey(keyInput);
  const here = await SocketClient.open(key);
  const there = await SocketClient.open({ ...key, origin: other.origin });
  return {
    scene,
    other,
    key,
    here,
    there,
    [Symbol.asyncDispose]: async () => {
      for (const one of [here, there, scene]) await one[Symbol.asyncDispose]();
    },
  };
}

describe('[R80] responses over WebSockets on PostgreSQL', () => {
  test('[R64] one that is kept is continued through another gateway; one that is not, only by its connection', async () => {
    await using both = await pair({});
    const { scene, key, here, there } = both;
    scene.upstream.answer = (call) => {
      // An answer has an id of its own, as a provider gives it.
      call.stream(SPOKEN.map((frame) => frame.replaceAll('resp_1', `resp_${scene.upstream.calls}`)));
    };
    const first = await here.create('One', MODEL).completed();
    const second = await there.create('Two', { ...MODEL, previous_response_id: first.id }).completed();
    assert.equal(second.previous_response_id, first.id);
    const third = await here.create('Three', { ...MODEL, previous_response_id: second.id, store: false }).completed();
    const fourth = await here.create('Four', { ...MODEL, previous_response_id: third.id, store: false }).completed();
    assert.equal(fourth.previous_response_id, third.id);
    const error = await there.create('Four', { ...MODEL, previous_response_id: third.id }).refused();
    assert.deepEqual([error.status, error.code], [400, 'previous_response_not_found']);
    const { credits, requests } = await usage(key);
    assert.deepEqual([credits.used.toFixed(9), credits.reserved, requests.total], [(4 * COST).toFixed(9), 0, 4]);
  });

  test('[R11] a rate limit counts over the connections of both', async () => {
    await using both = await pair({}, { rpm_limit: 3 });
    const { scene, here, there, key } = both;
    scene.upstream.answer = (call) => call.stream(SPOKEN);
    for (const client of [here, there, here]) await client.create('Hi', MODEL).completed();
    for (const client of [there, here]) {
      const error = await client.create('Hi', MODEL).refused();
      assert.deepEqual([error.status, error.code], [429, 'rate_limit_exceeded']);
    }
    assert.equal((await scene.gateway.admin.showKey(key.id)).requests, 3);
  });

  test('[F12] on a balance for one, asked for through both at once: one runs, and nothing is overspent', async () => {
    await using both = await pair({ holds: 'full' }, { credit: '0.04' });
    const { scene, here, there, key } = both;
    for (const client of [here, there]) for (let count = 0; count < 4; count++) client.create('Hi', MODEL);
    const running = await scene.upstream.next();
    // The gateway whose connection got nothing has refused all four when it has told so four times.
    const refused: string[] = [];
    const refusedBy = async (client: SocketClient): Promise<void> => {
      for (let count = 0; count < 4; count++) {
        const last = (await client.answer()).at(-1);
        if (last?.type === 'error') refused.push(last.error?.code ?? '');
      }
    };
    const [one, two] = [refusedBy(here), refusedBy(there)];
    await Promise.race([one, two]);
    assert.deepEqual(
      refused,
      Array.from({ length: 4 }, () => 'balance_temporarily_reserved'),
    );
    assert.equal(scene.upstream.calls, 1);
    scene.upstream.answer = (call) => call.stream(SPOKEN);
    running.stream(SPOKEN);
    await Promise.all([one, two]);
    const { credits, requests } = await usage(key);
    assert.equal(credits.used.toFixed(9), (COST * requests.total).toFixed(9));
    assert.ok(credits.used <= 0.04 && credits.reserved === 0);
  });

  test('[F13] a client that goes in the middle is charged what was produced, and nothing stays held', async () => {
    await using both = await pair({});
    const { scene, here, there, key, other } = both;
    there.create('Hi', MODEL);
    const call = await scene.upstream.next();
    call.streamHead();
    for (const frame of [...opening, text('Some words')]) call.chunk(frame);
    while ((await there.next()).type !== 'response.output_text.delta');
    there.webSocket.terminate();
    await call.closed;
    const { credits } = await eventually(async () => {
      const seen = await usage(key);
      return seen.credits.reserved === 0 ? seen : null;
    });
    assert.ok(credits.used > 0 && credits.used < COST * 10, String(credits.used));
    await scene.gateway.admin.changeKey(key.id, { status: 'disabled' });
    assert.equal((await here.create('Hi', MODEL).refused()).code, 'key_disabled');
    await auditClean(other);
  });
});
