/** Streams that share a balance: one that only other requests' holds keep from growing waits for them. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import { assertCut, type CutGateway, cutGateway, dense, elasticRequest, FIRST_TOKENS } from '../support/cut-gateway.ts';
import { faultyGateway } from '../support/faulty-gateway.ts';
import { refusal, say, visit } from '../support/requests.ts';
import { ClientStream, configText, settled } from '../support/scripted-gateway.ts';
import { type ScriptedCall, ScriptedServer } from '../support/upstreams/scripted.ts';
import { INPUT_TOKENS, SPEECH, UPSTREAM_MODEL } from '../support/upstreams/spoken.ts';

const { opening, text, closing, keepAlive } = SPEECH.chat;
const BODY = elasticRequest('chat', UPSTREAM_MODEL);
/** What one stream holds at first. */
const SLICE = Buffer.byteLength(JSON.stringify(BODY)) + 32 + FIRST_TOKENS;
/** Left over beside the first slices. */
const SPARE = 500;
/** More than the first slice and what is left over carry. */
const WORDS = dense(2_600);
assert.ok(WORDS.length > FIRST_TOKENS + SPARE);

/** A wait that nobody outlasts, so that nothing in these tests is ended by it. */
const patient = await cutGateway({ streams: { hold_wait: 60, keep_alive: 0.05 } });
const hasty = await cutGateway({ streams: { hold_wait: 0.4, keep_alive: 0.05 } });
after(async () => {
  await patient[Symbol.asyncDispose]();
  await hasty[Symbol.asyncDispose]();
});

interface Running {
  readonly client: ClientStream;
  readonly call: ScriptedCall;
}

/** A stream that has begun: its hold is there, and its client has seen the first frame. */
async function running({ provider }: CutGateway, key: CreatedKey): Promise<Running> {
  const client = new ClientStream(key, 'chat', BODY).read();
  const call = await provider.next();
  call.streamHead();
  call.chunk(opening.join(''));
  await client.until(/"role":"assistant"/);
  return { client, call };
}

/** Resolves when so many more signs of life have come, with nothing else between. */
async function silentFor({ client }: Running, signs: number): Promise<void> {
  const from = client.text.length;
  await client.until((all) => (all.slice(from).match(/^:/gm)?.length ?? 0) >= signs);
  assert.doesNotMatch(client.text.slice(from), /^data:/m);
}

function finish({ call }: Running): void {
  call.chunk(closing.join(''));
  call.finish();
}

async function completes(stream: Running): Promise<void> {
  finish(stream);
  assert.match((await stream.client.ended).text, /"finish_reason":"stop"[\s\S]*\[DONE\]/);
}

describe('a stream that only other holds keep from growing', () => {
  test('[R13] waits, with keep-alives, and goes on when another one ends', async () => {
    const key = await patient.gateway.tokenKey({ budget: String(2 * SLICE + SPARE) });
    const [waiting, other] = [await running(patient, key), await running(patient, key)];
    waiting.call.chunk(text('So far so good.') + text(WORDS) + text('and on it goes'));
    await waiting.client.until(/So far so good/);
    await waiting.client.until(keepAlive);
    await silentFor(waiting, 3);
    await completes(other);
    await waiting.client.until(/and on it goes/);
    assert.ok(waiting.client.text.includes(WORDS));
    await completes(waiting);
    assert.ok((await settled(patient.gateway, key)).used > 0);
  });

  test('[R13] waits no longer than it should when the client goes away', async () => {
    const key = await patient.gateway.tokenKey({ budget: String(2 * SLICE + SPARE) });
    const [waiting, other] = [await running(patient, key), await running(patient, key)];
    waiting.call.chunk(text(WORDS));
    await waiting.client.until(keepAlive);
    waiting.client.close();
    await waiting.call.closed;
    await completes(other);
    await settled(patient.gateway, key);
  });

  test('[R13] is cut when the wait is over', async () => {
    const key = await hasty.gateway.tokenKey({ budget: String(2 * SLICE + SPARE) });
    const [waiting, other] = [await running(hasty, key), await running(hasty, key)];
    waiting.call.chunk(text(WORDS));
    const seen = (await waiting.client.ended).text;
    assert.match(seen, keepAlive);
    assertCut('chat', seen);
    await waiting.call.closed;
    await completes(other);
    const { used } = await settled(hasty.gateway, key);
    assert.ok(used <= 2 * SLICE + SPARE);
  });

  test('[R13] its wait counts from when it has outrun its hold: before that it goes on asking', async () => {
    const key = await hasty.gateway.tokenKey({ budget: String(2 * SLICE + SPARE) });
    const [slow, other] = [await running(hasty, key), await running(hasty, key)];
    // Enough to ask for more ahead of time, but within the first slice.
    slow.call.chunk(text(WORDS.slice(0, FIRST_TOKENS - 100)));
    await slow.client.until((seen) => seen.includes(WORDS.slice(0, FIRST_TOKENS - 100)));
    // So many signs of life take longer than the wait.
    await silentFor(slow, 12);
    await completes(other);
    slow.call.chunk(text(WORDS.slice(0, 900)) + text('beyond the first slice'));
    await slow.client.until(/beyond the first slice/);
    await completes(slow);
    await settled(hasty.gateway, key);
  });

  test('[R13] where all of them wait for each other, the youngest is cut first, and the others go on', async () => {
    const budget = 3 * SLICE + 200;
    const key = await patient.gateway.tokenKey({ budget: String(budget) });
    const streams = [await running(patient, key), await running(patient, key), await running(patient, key)] as const;
    const [oldest, middle, youngest] = streams;
    for (const stream of streams) stream.call.chunk(text(WORDS));
    assertCut('chat', (await youngest.client.ended).text);
    await youngest.call.closed;
    // What the youngest had held lets one of the others go on; whichever waits then waits for one that goes on.
    oldest.call.chunk(text('the oldest goes on'));
    middle.call.chunk(text('the middle one goes on'));
    const first = await Promise.race([
      oldest.client.until(/oldest goes on/).then(() => oldest),
      middle.client.until(/middle one goes on/).then(() => middle),
    ]);
    await completes(first);
    const last = first === oldest ? middle : oldest;
    await last.client.until(/goes on/);
    await completes(last);
    const { used } = await settled(patient.gateway, key);
    assert.ok(used <= budget);
  });
});

describe('what changes while a stream runs', () => {
  test('[R13] credit that is added meanwhile carries it on', async () => {
    const nanos = (tokens: number): string => (tokens * 4e-6).toFixed(9);
    const key = await patient.gateway.creditKey({ credit: nanos(SLICE + SPARE) });
    const stream = await running(patient, key);
    stream.call.chunk(text(WORDS.slice(0, FIRST_TOKENS - 100)));
    await stream.client.until((seen) => seen.includes(WORDS.slice(0, FIRST_TOKENS - 100)));
    await patient.gateway.admin.addCredit(key.id, { amount: '1' });
    stream.call.chunk(text(WORDS) + text('carried on'));
    await stream.client.until(/carried on/);
    await completes(stream);
    await settled(patient.gateway, key);
  });

  test('[R13] [R16] a budget that is lowered below what is held: the stream is cut, what it made is charged, the next one is refused', async () => {
    const key = await patient.gateway.tokenKey();
    const stream = await running(patient, key);
    await patient.gateway.admin.changeKey(key.id, { budget: '100' });
    stream.call.chunk(text(WORDS));
    assertCut('chat', (await stream.client.ended).text);
    const { used, reserved } = await settled(patient.gateway, key);
    assert.equal(reserved, 0);
    assert.ok(used > 100 && used <= SLICE, `charged ${used}`);
    const usage = (await (await visit(key, 'usage')).json()) as { tokens: { remaining: number } };
    assert.equal(usage.tokens.remaining, 0);
    await refusal(visit(key, 'chat', { body: BODY }), 'chat', 429, 'limit_reached');
  });

  test('[R13] [R17] a budget period that ends within a stream: the new one carries it on and is charged', async () => {
    const provider = await ScriptedServer.start();
    let nowMs = Date.parse('2026-03-31T23:59:59.900Z');
    const config = configText({
      providers: {
        one: { kind: 'openai', base_url: `http://127.0.0.1:${provider.port}/v1`, api_key: 'sk-one', formats: ['chat'] },
      },
      targets: [{ provider: 'one', model: UPSTREAM_MODEL }],
      model: { visible_output: true },
    });
    await using stack = new AsyncDisposableStack();
    stack.defer(() => provider.close());
    const gateway = stack.use(await faultyGateway(config, { nowMs: () => nowMs }));
    const body = elasticRequest('chat', 'tested');
    const before = INPUT_TOKENS + 3_000;
    // Once the first answer is charged, what is left of the month carries one slice and no extension.
    const budget = Buffer.byteLength(JSON.stringify(body)) + 32 + FIRST_TOKENS + SPARE + before;
    const key = await gateway.admin.createKey({ mode: 'token_budget', budget: String(budget), period: 'month' });
    const first = new ClientStream(key, 'chat', body).read();
    const usage = { prompt_tokens: INPUT_TOKENS, completion_tokens: 3_000, total_tokens: before };
    (await provider.next()).stream([
      ...opening,
      text('one'),
      closing[0] ?? '',
      `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":${JSON.stringify(usage)}}\n\n`,
      'data: [DONE]\n\n',
    ]);
    await first.ended;
    assert.equal((await gateway.admin.showKey(key.id)).used, before);

    const client = new ClientStream(key, 'chat', body).read();
    const call = await provider.next();
    call.streamHead();
    call.chunk(opening.join(''));
    await client.until(/assistant/);
    nowMs += 200;
    call.chunk(text(WORDS));
    call.chunk(text('in April'));
    await client.until(/in April/);
    call.chunk(closing.join(''));
    call.finish();
    assert.match((await client.ended).text, /"finish_reason":"stop"/);
    const view = await gateway.admin.showKey(key.id);
    assert.deepEqual([view.used, view.reserved, view.live_holds], [INPUT_TOKENS + 8, 0, 0]);
    assert.deepEqual((await gateway.admin.audit()).findings, []);
  });
});

describe('before a 429', () => {
  test('[R13] [R15] the input is counted: a prompt that its bytes would keep out runs beside the holds of others', async () => {
    const prompt = 'The gateway counts a prompt before it refuses one for the holds of other requests. '.repeat(240);
    const whole = { ...BODY, stream: false };
    const otherHolds = Buffer.byteLength(JSON.stringify(whole)) + 32 + 8_000;
    const key = await patient.gateway.tokenKey({ budget: String(otherHolds + FIRST_TOKENS + 12_000) });
    const other = new ClientStream(key, 'chat', whole).read();
    const otherCall = await patient.provider.next();
    const body = elasticRequest('chat', UPSTREAM_MODEL, { messages: [{ role: 'user', content: prompt }] });
    const client = new ClientStream(key, 'chat', body).read();
    const call = await Promise.race([
      patient.provider.next(),
      client.ended.then(({ text: refused }) => assert.fail(refused)),
    ]);
    call.stream([...opening, text('Hi'), ...closing]);
    assert.match((await client.ended).text, /\[DONE\]/);
    // One that the count does not carry either has to wait for the other request.
    const longer = { model: UPSTREAM_MODEL, max_tokens: 6_000 };
    const error = await refusal(
      say(key, 'chat', prompt.repeat(2), longer),
      'chat',
      429,
      'balance_temporarily_reserved',
    );
    assert.ok(Number(error.headers.get('retry-after')) >= 1);
    otherCall.reply(200, SPEECH.chat.whole('Hi'));
    await other.ended;
    await settled(patient.gateway, key);
  });
});
