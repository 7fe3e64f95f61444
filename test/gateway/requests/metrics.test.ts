/** What a scrape says of a scripted run, held against the ledger and the answers that clients got. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { KeyView } from '../../../src/admin/keys/schema.ts';
import { type GatewayProcess, gatewayProcess } from '../../support/gateway-process.ts';
import { startPostgres, type TestPostgres } from '../../support/postgres.ts';
import { Scrape, scrapeOf } from '../../support/scrape.ts';
import { call, type StartedGateway, startedGateway } from '../../support/started-gateway.ts';

const METRICS_TOKEN = 'metrics-token-for-tests-0123456789abcdef';
const CHAT = '/v1/chat/completions';
const NANOS = 1e9;

interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

function ask(content: string, more: object = {}): object {
  return { model: 'sandbox/alpha', messages: [{ role: 'user', content }], ...more };
}

async function usageOf(response: Response): Promise<Usage> {
  assert.equal(response.status, 200);
  return ((await response.json()) as { usage: Usage }).usage;
}

/** Nothing of the run is under way any more: the record of a request ends a moment after its last byte. */
async function settled(dataDir: string, requests: number): Promise<Scrape> {
  for (;;) {
    const scrape = await scrapeOf(dataDir);
    if (scrape.sum('gateway_requests_total') >= requests) return scrape;
  }
}

function usedNanos(keys: readonly KeyView[], mode: KeyView['mode']): number {
  return keys.filter((key) => key.mode === mode).reduce((sum, key) => sum + Math.round(key.used * NANOS), 0);
}

describe('a scrape', () => {
  let gateway: StartedGateway;

  before(async () => {
    gateway = await startedGateway({ env: { GATEWAY_METRICS_TOKEN: METRICS_TOKEN } });
  });
  after(() => gateway[Symbol.asyncDispose]());

  test('adds up with the ledger, to the nano-credit', async () => {
    const credit = [await gateway.creditKey(), await gateway.creditKey()];
    const budget = await gateway.tokenKey();
    const answered: Usage[] = [];
    for (const [index, { key }] of [...credit, ...credit].entries()) {
      answered.push(await usageOf(await call(gateway.origin + CHAT, { key, body: ask(`count to ${index}`) })));
    }
    const stream = ask('[[tokens=40]]', { stream: true });
    const text = await (await call(gateway.origin + CHAT, { key: credit[0]?.key ?? '', body: stream })).text();
    assert.match(text, /\[DONE\]/);
    const onBudget = await usageOf(
      await call(`${gateway.origin}/token${CHAT}`, { key: budget.key, body: ask('tokens, please') }),
    );
    const idempotent = { 'idempotency-key': 'once' };
    for (const _ of ['fresh', 'replay']) {
      const repeated = { key: credit[1]?.key ?? '', body: ask('twice'), headers: idempotent };
      answered.push(await usageOf(await call(gateway.origin + CHAT, repeated)));
    }
    const refused: readonly [number, Parameters<typeof call>[1]][] = [
      [401, { key: 'sk-nobody', body: ask('x') }],
      [400, { key: credit[0]?.key ?? '', body: { messages: 'none' } }],
      [404, { key: credit[0]?.key ?? '', body: ask('x', { model: 'sandbox/"\nno-such-model' }) }],
      [402, { key: (await gateway.creditKey({ credit: '0' })).key, body: ask('x') }],
    ];
    for (const [status, one] of refused) {
      const response = await call(gateway.origin + CHAT, one);
      await response.text();
      assert.equal(response.status, status);
    }

    const scrape = await settled(gateway.dataDir, 12);
    const keys = await gateway.admin.listKeys();
    const charged = Math.round(scrape.sum('gateway_charged_credits_total') * NANOS);
    assert.ok(charged > 0);
    assert.equal(charged, usedNanos(keys, 'credit'));
    assert.equal(scrape.sum('gateway_charged_tokens_total'), onBudget.prompt_tokens + onBudget.completion_tokens);
    assert.equal(
      scrape.sum('gateway_tokens_total', { class: 'output' }),
      keys.reduce((sum, key) => sum + key.output_tokens, 0),
    );
    assert.equal(
      scrape.sum('gateway_tokens_total', { class: 'input' }),
      keys.reduce((sum, key) => sum + key.input_tokens, 0),
    );
    assert.ok(Math.round(scrape.sum('gateway_cost_credits_total') * NANOS) > charged, 'token_budget keys cost too');

    assert.equal(scrape.sum('gateway_requests_total'), 12);
    assert.equal(scrape.sum('gateway_requests_total', { status: '200', condition: 'none' }), 8);
    for (const [status] of refused) assert.equal(scrape.sum('gateway_requests_total', { status: String(status) }), 1);
    assert.equal(scrape.sum('gateway_unauthenticated_requests_total', { condition: 'invalid_credentials' }), 1);
    assert.equal(scrape.sum('gateway_admissions_total', { outcome: 'admitted' }), 7);
    assert.equal(scrape.sum('gateway_admissions_total', { outcome: 'replay' }), 1);
    assert.equal(scrape.sum('gateway_admissions_total', { outcome: 'insufficient_credit' }), 1);
    assert.equal(scrape.sum('gateway_attempts_total', { outcome: 'complete' }), 7);
    assert.equal(scrape.sum('gateway_request_duration_seconds'), 7);
    assert.equal(scrape.sum('gateway_request_duration_seconds', { streamed: 'true' }), 1);
    assert.equal(scrape.sum('gateway_time_to_first_byte_seconds'), 7);
    assert.deepEqual(scrape.values('gateway_requests_total', 'model'), ['none', 'sandbox/alpha']);
    assert.deepEqual(scrape.values('gateway_key_requests_total', 'key'), []);
  });

  test('shows what is held while it is held', async () => {
    const { key } = await gateway.creditKey();
    const body = ask('[[tokens=2000]] [[delay=5]]', { stream: true });
    const abort = new AbortController();
    const response = await fetch(gateway.origin + CHAT, {
      method: 'POST',
      signal: abort.signal,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    assert.equal(response.status, 200);
    const scrape = await scrapeOf(gateway.dataDir);
    assert.equal(scrape.sum('gateway_holds', { mode: 'credit' }), 1);
    assert.ok(scrape.sum('gateway_held_credits') > 0);
    assert.ok(scrape.sum('gateway_oldest_hold_seconds') > 0);
    assert.equal(scrape.sum('gateway_requests_in_flight'), 1);
    abort.abort();
    for (;;) {
      const later = await scrapeOf(gateway.dataDir);
      if (later.sum('gateway_holds') > 0) continue;
      assert.equal(later.sum('gateway_held_credits'), 0);
      assert.equal(later.sum('gateway_oldest_hold_seconds'), 0);
      break;
    }
  });

  test('needs the admin secret or the token for metrics, which opens nothing else', async () => {
    const get = (path: string, token?: string): Promise<Response> =>
      call(`http://127.0.0.1:${gateway.adminPort}${path}`, token === undefined ? {} : { key: token });
    assert.equal((await get('/metrics')).status, 401);
    assert.equal((await get('/metrics', 'x')).status, 401);
    const scraped = await get('/metrics', METRICS_TOKEN);
    assert.equal(scraped.status, 200);
    assert.equal(scraped.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
    const first = new Scrape(await scraped.text());
    assert.equal(first.sum('gateway_ready'), 1);
    const second = new Scrape(await (await get('/metrics', METRICS_TOKEN)).text());
    const started = 'process_start_time_seconds';
    assert.equal(second.sum(started), first.sum(started), 'restarts are counted by its changes');
    for (const path of ['/admin/v1/keys', '/admin/v1/audit', '/admin/v1/openapi.json', '/admin/nowhere']) {
      assert.equal((await get(path, METRICS_TOKEN)).status, 401, path);
    }
  });

  test('says what the last audit found, once there was one', async () => {
    assert.deepEqual((await gateway.admin.audit()).findings, []);
    const scrape = await scrapeOf(gateway.dataDir);
    assert.equal(scrape.sum('gateway_audit_ok'), 1);
    assert.ok(scrape.sum('gateway_audit_timestamp_seconds') > 0);
    const { every_hours, last } = await gateway.admin.lastAudit();
    assert.equal(every_hours, 24);
    assert.deepEqual([last?.ok, last?.findings, last?.finding_count], [true, [], 0]);
    assert.equal(Date.parse(String(last?.at)) / 1_000, scrape.sum('gateway_audit_timestamp_seconds'));
  });
});

describe('a scrape of two workers', () => {
  let postgres: TestPostgres;
  let folder: string;
  let gateway: GatewayProcess;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-metrics-'));
    await writeFile(join(folder, 'gateway.yaml'), '');
    postgres = await startPostgres();
    const DATABASE_URL = postgres.url(await postgres.createDatabase());
    gateway = await gatewayProcess(folder, { DATABASE_URL, GATEWAY_METRICS_KEYS: 'on' }, ['--workers', '2']);
  });
  after(async () => {
    await gateway.kill('SIGTERM');
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('is the sum of both, with a label where each has a value of its own, and has every key where that is on', async () => {
    const made = await gateway.admin.createKey({ mode: 'credit', credit: '500' });
    const requests = 24;
    const calls = Array.from({ length: requests }, (_, index) =>
      call(gateway.origin + CHAT, { key: made.key, body: ask(`number ${index}`), headers: { connection: 'close' } }),
    );
    for (const response of await Promise.all(calls)) await usageOf(response);
    const scrape = await settled(folder, requests);
    assert.equal(scrape.sum('gateway_requests_total'), requests);
    const used = usedNanos(await gateway.admin.listKeys(), 'credit');
    assert.equal(Math.round(scrape.sum('gateway_charged_credits_total') * NANOS), used);
    assert.equal(Math.round(scrape.sum('gateway_key_charged_credits_total', { key: made.id }) * NANOS), used);
    assert.equal(scrape.sum('gateway_key_requests_total', { key: made.id }), requests);
    assert.deepEqual(scrape.values('gateway_heap_used_bytes', 'worker'), ['1', '2']);
    assert.deepEqual(scrape.values('gateway_circuit_open', 'worker'), ['1', '2']);
    assert.equal(scrape.sum('gateway_workers'), 2);
    assert.ok(scrape.sum('gateway_ledger_commit_seconds') > 0, 'the ledgers are asked too');
  });

  test('does not become less when a worker dies', async () => {
    const before = await scrapeOf(folder);
    const { pid } = gateway.child;
    const [worker] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').map(Number);
    assert.ok(worker !== undefined && worker > 0);
    process.kill(worker, 'SIGKILL');
    await gateway.until(/a worker ended by itself/);
    for (;;) {
      // While it is noticed, there may be none: a sum without the worker would be less.
      const scrape = await scrapeOf(folder).catch(() => null);
      if (scrape === null) continue;
      for (const name of ['gateway_requests_total', 'gateway_charged_credits_total', 'process_cpu_seconds_total']) {
        assert.ok(scrape.sum(name) >= before.sum(name), name);
      }
      if (scrape.values('gateway_heap_used_bytes', 'worker').length === 2) break;
    }
  });
});
