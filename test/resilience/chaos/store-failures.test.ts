/** The store fails while the gateway serves: nothing starts without it, what runs goes on, and each charge is made once. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { CreatedKey, KeyView } from '../../../src/admin/keys/schema.ts';
import { type FaultyGateway, faultyGateway } from '../../support/faulty-gateway.ts';
import { GENERATIONS, type GenerationName, refusal, visit } from '../../support/requests.ts';
import { type Gated, type GatedUpstream, gatedUpstream } from '../../support/upstreams/gated.ts';

/** 10 tokens in at 1 and 5 out at 4 USD per million: what `Gated` reports. */
const CHARGE = 0.000_03;

interface Stage extends AsyncDisposable {
  readonly gateway: FaultyGateway;
  readonly upstream: GatedUpstream;
  readonly key: CreatedKey;
}

async function stage(settleWaitS = 300): Promise<Stage> {
  const upstream = await gatedUpstream({ settle_wait: settleWaitS });
  const gateway = await faultyGateway(`${upstream.config}sandbox: false\n`);
  return {
    gateway,
    upstream,
    key: await gateway.admin.createKey({ mode: 'credit', credit: '5' }),
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

function ask(key: CreatedKey, name: GenerationName, extra: object = {}, headers = {}): Promise<Response> {
  const said = name === 'responses' ? { input: 'Hello' } : { messages: [{ role: 'user', content: 'Hello' }] };
  return visit(key, name, { headers, body: { model: 'gated/one', ...said, ...extra } });
}

/** Reads on in the background; `until` resolves as soon as the text so far fits. */
function reading(response: Response) {
  let text = '';
  let wake: () => void = () => {};
  const ended = (async () => {
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      wake();
    }
  })();
  const until = async (pattern: RegExp): Promise<void> => {
    while (!pattern.test(text)) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return { until, ended, text: () => text };
}

async function viewWhen(gateway: FaultyGateway, key: CreatedKey, wanted: (view: KeyView) => boolean): Promise<KeyView> {
  for (const deadlineMs = Date.now() + 120_000; Date.now() < deadlineMs; await delay(20)) {
    const view = await gateway.admin.showKey(key.id);
    if (wanted(view)) return view;
  }
  throw new Error(`never got there: ${JSON.stringify(await gateway.admin.showKey(key.id))}`);
}

async function visitPath(gateway: FaultyGateway, path: string): Promise<Response> {
  const response = await fetch(gateway.origin + path);
  await response.arrayBuffer();
  return response;
}

async function readinessWhen(gateway: FaultyGateway, status: number): Promise<void> {
  for (const deadlineMs = Date.now() + 120_000; Date.now() < deadlineMs; await delay(20)) {
    if ((await visitPath(gateway, '/readyz')).status === status) return;
  }
  throw new Error(`/readyz never answered ${status}`);
}

/** Charged once, nothing held, and the books agree. */
async function assertChargedOnce(gateway: FaultyGateway, key: CreatedKey): Promise<void> {
  const { used, reserved, requests } = await viewWhen(gateway, key, (view) => view.live_holds === 0 && view.used > 0);
  assert.deepEqual({ used, reserved, requests }, { used: CHARGE, reserved: 0, requests: 1 });
  const audit = await gateway.admin.audit();
  assert.deepEqual(audit.findings, []);
  assert.equal(audit.live_holds, 0);
}

async function begunStream({ key, upstream }: Stage): Promise<{ client: ReturnType<typeof reading>; call: Gated }> {
  const answer = ask(key, 'chat', { stream: true });
  const call = await upstream.next();
  call.begin();
  const client = reading(await answer);
  await client.until(/Let/);
  return { client, call };
}

describe('a store that is down at admission', () => {
  test('[F6] [R29] 503 with Retry-After on every route, the provider is not called; it serves again by itself', async () => {
    await using fixture = await stage();
    const { gateway, upstream, key } = fixture;
    // The key is known to the process, so that the hold itself is what fails.
    assert.equal((await visit(key, 'models')).status, 200);
    gateway.store.goDown();
    for (const name of GENERATIONS) {
      const { headers } = await refusal(ask(key, name), name, 503, 'service_unavailable');
      assert.ok(Number(headers.get('retry-after')) >= 1);
    }
    await refusal(visit(key, 'models'), 'models', 503, 'service_unavailable');
    await refusal(visit(key, 'usage'), 'usage', 503, 'service_unavailable');
    await readinessWhen(gateway, 503);
    assert.equal((await visitPath(gateway, '/healthz')).status, 200, 'the process itself is alive');
    assert.equal(upstream.arrivals, 0);

    gateway.store.comeBack();
    await readinessWhen(gateway, 200);
    const answer = ask(key, 'chat');
    (await upstream.next()).answer();
    assert.equal((await answer).status, 200);
    await assertChargedOnce(gateway, key);
  });

  test('[F27] a rate limit that cannot be asked is never open', async () => {
    await using fixture = await stage();
    const { gateway, upstream } = fixture;
    const limited = await gateway.admin.createKey({ mode: 'credit', credit: '5', rpm_limit: 1 });
    assert.equal((await visit(limited, 'models')).status, 200);
    gateway.store.goDown();
    for (let i = 0; i < 3; i++) await refusal(ask(limited, 'chat'), 'chat', 503, 'service_unavailable');
    gateway.store.comeBack();
    await refusal(ask(limited, 'chat'), 'chat', 429, 'rate_limit_exceeded');
    assert.equal(upstream.arrivals, 0);
  });

  test('[F5] [F6] a hold whose acknowledgement was lost is given back, and its idempotency key is free', async () => {
    await using fixture = await stage();
    const { gateway, upstream, key } = fixture;
    const headers = { 'idempotency-key': 'order 7' };
    assert.equal((await visit(key, 'models')).status, 200);
    gateway.store.loseNext('admit');
    await refusal(ask(key, 'chat', {}, headers), 'chat', 503, 'service_unavailable');
    assert.equal(upstream.arrivals, 0);
    await viewWhen(gateway, key, (view) => view.live_holds === 0);
    const answer = ask(key, 'chat', {}, headers);
    (await upstream.next()).answer();
    assert.equal((await answer).status, 200);
    await assertChargedOnce(gateway, key);
  });
});

describe('a store that goes down in the middle of a stream', () => {
  test('[F7] [R51] the stream goes on, only its end waits for the charge, which is made once', async () => {
    await using fixture = await stage();
    const { gateway, key } = fixture;
    const { client, call } = await begunStream(fixture);
    gateway.store.goDown();
    const refused = gateway.store.failed('settle');
    call.finish();
    await client.until(/ through\./);
    await refused;
    assert.doesNotMatch(client.text(), /\[DONE\]/, 'the client has not seen the end');
    // The settlement that gets through is applied without the gateway learning of it.
    const lost = gateway.store.failed('settle');
    gateway.store.loseNext('settle');
    gateway.store.comeBack();
    await lost;
    await client.ended;
    assert.match(client.text(), /data: \[DONE\]\n\n$/);
    await assertChargedOnce(gateway, key);
  });

  test('[F7] [R51] the end waits only so long: then an in-band failure, and the charge is made later, once', async () => {
    await using fixture = await stage(0.2);
    const { gateway, key } = fixture;
    const { client, call } = await begunStream(fixture);
    gateway.store.goDown();
    call.finish();
    await client.ended;
    assert.match(client.text(), /"code":"service_unavailable"/);
    assert.doesNotMatch(client.text(), /\[DONE\]/);
    gateway.store.comeBack();
    await assertChargedOnce(gateway, key);
  });

  test('[F7] [R51] a whole answer waits with its body; past the wait it is a 503, and the charge is made once', async () => {
    await using fixture = await stage(0.2);
    const { gateway, upstream, key } = fixture;
    const answer = ask(key, 'chat');
    const call = await upstream.next();
    gateway.store.goDown();
    call.answer();
    await refusal(answer, 'chat', 503, 'service_unavailable');
    gateway.store.comeBack();
    await assertChargedOnce(gateway, key);
  });
});

describe('a disk that is full', () => {
  test('[F8] 503 for new work, the running stream ends when there is room again, nothing is corrupted', async () => {
    await using fixture = await stage();
    const { gateway, upstream, key } = fixture;
    const { client, call } = await begunStream(fixture);
    const { page_count: pages } = gateway.database.prepare('PRAGMA page_count').get() ?? {};
    gateway.database.exec(`PRAGMA max_page_count = ${pages}`);
    // Long labels fill what is left of the last pages.
    const label = 'x'.repeat(100);
    await assert.rejects(async () => {
      for (let i = 0; i < 2_000; i++) await gateway.admin.createKey({ mode: 'credit', credit: '1', label });
    }, /full/);
    // Small rows may still fit here and there; each that does is served.
    let served = 0;
    let next = upstream.next();
    for (let status = 0; status !== 503; ) {
      const asked = ask(key, 'chat', {}, { 'idempotency-key': `${served}`.padEnd(255, 'x') });
      const first = await Promise.race([asked, next]);
      if (first instanceof Response) assert.equal(first.status, 503, 'the provider is called for all that is held');
      else {
        served++;
        first.answer();
        next = upstream.next();
      }
      ({ status } = await asked);
    }
    const { arrivals } = upstream;
    assert.equal(arrivals, served + 1);
    const refused = gateway.store.failed('settle');
    call.finish();
    await Promise.race([refused, client.until(/\[DONE\]/)]);

    gateway.database.exec('PRAGMA max_page_count = 1000000');
    await client.ended;
    assert.match(client.text(), /data: \[DONE\]\n\n$/);
    await viewWhen(gateway, key, (view) => view.live_holds === 0);
    const answer = ask(key, 'chat');
    (await next).answer();
    assert.equal((await answer).status, 200);
    assert.equal(upstream.arrivals, arrivals + 1);
    const { used } = await viewWhen(gateway, key, (view) => view.live_holds === 0);
    assert.equal(Math.round(used / CHARGE), served + 2);
    assert.deepEqual((await gateway.admin.audit()).findings, []);
    assert.equal(gateway.database.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok');
  });
});
