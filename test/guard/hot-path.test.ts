/** What a plain request may cost, counted and not timed: a change that makes the hot path longer fails here. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Counts, countDuring, loadedModules } from './counters.ts';
import { type FixedProvider, fixedProvider, RawClient } from './raw-ends.ts';

// Only now: the counters must be there before the gateway is loaded.
const { startedGateway } = await import('../support/started-gateway.ts');
const { configText } = await import('../support/scripted-gateway.ts');
type StartedGateway = Awaited<ReturnType<typeof startedGateway>>;

const CHUNKS = 64;
const AT_ONCE = 32;
/** Of everything in the process, with little to spare above what is measured. */
const TIMERS_MAX = 4;
const RUNS = 8;
/** The request, and for a stream its first frame and the one with its usage; for a whole answer, the answer. */
const PARSED_MAX = 3;
/** How an entry of the request log begins: with the endpoint and the format. */
const LOG_ENTRY = '["chat","chat",';
const UPSTREAM = { id: 'chatcmpl-1', created: 1, model: 'upstream-model' };
const USAGE = { prompt_tokens: 200, completion_tokens: 256, total_tokens: 456 };
const REQUEST = JSON.stringify({
  model: 'tested',
  max_tokens: 1_000,
  messages: [{ role: 'user', content: 'w'.repeat(900) }],
});
const STREAM_REQUEST = REQUEST.replace('"max_tokens"', '"stream":true,"max_tokens"');
const ANSWER = JSON.stringify({
  ...UPSTREAM,
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'v'.repeat(900) }, finish_reason: 'stop' }],
  usage: USAGE,
});

function wholeWrites(): Buffer[] {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${ANSWER.length}\r\n\r\n`;
  return [Buffer.from(head + ANSWER)];
}

function streamWrites(): Buffer[] {
  const frame = (fields: object): string =>
    `data: ${JSON.stringify({ ...UPSTREAM, object: 'chat.completion.chunk', ...fields })}\n\n`;
  const delta = (value: object, finish: string | null = null): string =>
    frame({ choices: [{ index: 0, delta: value, finish_reason: finish }] });
  const frames = [
    delta({ role: 'assistant', content: '' }),
    ...Array.from({ length: CHUNKS }, (_, index) => delta({ content: `word${index} ` })),
    delta({}, 'stop') + frame({ choices: [], usage: USAGE }),
    'data: [DONE]\n\n',
  ];
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
  const chunks = frames.map((text) => Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`));
  return [Buffer.from(head), ...chunks, Buffer.from('0\r\n\r\n')];
}

function requestBytes(key: string, body: string): Buffer {
  return Buffer.from(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
}

function kindOf(text: string): 'entry' | 'charge' | 'value' {
  if (text.startsWith(LOG_ENTRY)) return 'entry';
  return /^\[\d+,\["/.test(text) ? 'charge' : 'value';
}

interface Scene {
  readonly body: string;
  readonly writes: readonly Buffer[];
  readonly end: string;
}

const WHOLE: Scene = { body: REQUEST, writes: wholeWrites(), end: '}}' };
const STREAM: Scene = { body: STREAM_REQUEST, writes: streamWrites(), end: '0\r\n\r\n' };

for (const [name, scene] of [
  ['a whole answer', WHOLE],
  [`a stream of ${CHUNKS} chunks`, STREAM],
] as const) {
  describe(name, () => {
    let provider: FixedProvider;
    let gateway: StartedGateway;
    let clients: RawClient[];
    let counts: Counts;
    let countsAtOnce: Counts;

    before(async () => {
      provider = await fixedProvider(scene.writes);
      const base_url = `http://127.0.0.1:${provider.port}/v1`;
      gateway = await startedGateway({
        config: configText({
          providers: { one: { kind: 'openai', base_url, api_key: 'sk-one', formats: ['chat'] } },
          targets: [{ provider: 'one', model: UPSTREAM.model }],
        }),
      });
      const { key } = await gateway.creditKey({ credit: '1000', rpm_limit: 100_000 });
      const request = requestBytes(key, scene.body);
      clients = await Promise.all(
        Array.from({ length: AT_ONCE }, () => RawClient.connect(gateway.origin, request, scene.end)),
      );
      const all = (): Promise<unknown> => Promise.all(clients.map((client) => client.ask()));
      // Connections are made and lazy parts are loaded before anything is counted.
      await all();
      await all();
      const [first] = clients;
      assert.ok(first);
      counts = await fewest(() => first.ask());
      assert.match(await first.ask(), /^HTTP\/1\.1 200 OK\r\n/);
      countsAtOnce = await fewest(all);
    });
    after(async () => {
      for (const client of clients) client.close();
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    });

    test('parses the body of the request once', () => {
      assert.equal(counts.parsed.filter((text) => text === scene.body).length, 1);
      assert.equal(countsAtOnce.parsed.filter((text) => text === scene.body).length, AT_ONCE);
    });

    test('parses a bounded number of other texts, whatever the number of chunks', () => {
      assert.ok(counts.parsed.length <= PARSED_MAX, counts.parsed.join('\n').slice(0, 5_000));
    });

    test('serialises nothing: the bytes of both sides pass', () => {
      // A value that is spliced into the bytes, such as the name of the model, is all that is written; beside it the
      // request log's entry and the record of the charge, which hold nothing of either side's text.
      const of = (kind: 'entry' | 'charge' | 'value') => counts.stringified.filter((text) => kindOf(text) === kind);
      assert.ok(of('value').join('').length < 100, of('value').join(''));
      assert.ok(of('entry').length <= 1 && of('entry').join('').length < 500, of('entry').join(''));
      assert.ok(of('charge').length <= 1 && of('charge').join('').length < 900, of('charge').join(''));
    });

    test('makes no WHATWG stream', () => {
      assert.equal(counts.webStreams, 0);
    });

    test('makes no transaction, waits for the disk once, to settle, and for no other thread', () => {
      assert.deepEqual([counts.transactions, counts.flushes, counts.messages], [0, 1, 0]);
    });

    test('makes at most one transaction per turn of the event loop, which requests share', () => {
      assert.ok(countsAtOnce.transactionsInOneTurnMax <= 1);
      const { transactions, flushes } = countsAtOnce;
      assert.ok(transactions < AT_ONCE, `${transactions} transactions for ${AT_ONCE} requests`);
      assert.ok(flushes < AT_ONCE, `${flushes} flushes for ${AT_ONCE} requests`);
    });

    test('makes a bounded number of timers, whatever the number of chunks', () => {
      assert.ok(counts.timers <= TIMERS_MAX, `${counts.timers} timers`);
    });

    test('makes fewer promises than a stream has chunks', (t) => {
      t.diagnostic(`${counts.promises} promises`);
      assert.ok(counts.promises < CHUNKS, `${counts.promises} promises`);
    });

    test('starts no thread and loads no tokenizer, and no telemetry that nobody has asked for', () => {
      assert.equal(countsAtOnce.threads, 0);
      assert.deepEqual(
        loadedModules.filter((url) => /gpt-tokenizer|opentelemetry/.test(url)),
        [],
      );
    });
  });
}

/** A step of the maintenance may fall into one of the runs, but not into each of them. */
async function fewest(work: () => Promise<unknown>): Promise<Counts> {
  const runs: [Counts, ...Counts[]] = [await countDuring(work)];
  while (runs.length < RUNS) runs.push(await countDuring(work));
  const order = ({ transactions, promises, stringified }: Counts) => [
    transactions,
    promises,
    stringified.join('').length,
  ];
  const isFewer = (run: Counts, best: Counts): boolean => {
    const [more, less] = [order(best), order(run)];
    const differs = less.findIndex((count, index) => count !== more[index]);
    return differs !== -1 && (less[differs] ?? 0) < (more[differs] ?? 0);
  };
  return runs.reduce((best, run) => (isFewer(run, best) ? run : best));
}
