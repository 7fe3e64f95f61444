/**
 * A gateway whose streams all have elastic holds, in front of a provider that does what the test says. The model
 * `upstream-model` has a native target for each format, so that not even its name is edited; `via-FORMAT` has one target.
 */
import assert from 'node:assert/strict';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import type { Format } from '../../src/core/endpoints.ts';
import { events } from './requests.ts';
import { scriptedScene } from './scripted-gateway.ts';
import type { StartedGateway } from './started-gateway.ts';
import type { ScriptedServer } from './upstreams/scripted.ts';
import { FORMAT_NAMES, SPEECH, UPSTREAM_MODEL } from './upstreams/spoken.ts';

export interface CutGateway extends AsyncDisposable {
  readonly gateway: StartedGateway;
  readonly provider: ScriptedServer;
}

const OUTPUT_LIMIT = 8_000;
/** What an elastic hold carries at first. */
export const FIRST_TOKENS = 2_048;
/** Less than a whole extension: the hold grows by it, and no further. */
const SPARE_TOKENS = 500;
/** What a body of the format may count for beyond its bytes, with tools. */
const ADDED_TOKENS_MAX = 32 + 1_024;

/** Text of which no tokenizer is sure to read more than a byte with a token: a count does not make its bound smaller. */
export function dense(bytes: number): string {
  return '31415926535897932384626433832795028841971693993751'.repeat(Math.ceil(bytes / 50)).slice(0, bytes);
}

export async function cutGateway(settings: object = {}, known: object = {}): Promise<CutGateway> {
  const model = (id: string, provider: string) => ({
    id,
    provider,
    max_output_tokens: OUTPUT_LIMIT,
    visible_output: true,
    ...known,
  });
  const scene = await scriptedScene({
    providers: { native: {}, ...Object.fromEntries(FORMAT_NAMES.map((format) => [format, { formats: [format] }])) },
    models: [model(UPSTREAM_MODEL, 'native'), ...FORMAT_NAMES.map((format) => model(`via-${format}`, format))],
    settings: { routing: { max_attempts: 1 }, ...settings },
  });
  const { gateway, upstream: provider } = scene;
  return { gateway, provider, [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose]() };
}

/** What a stream asks for besides its text. */
export function elasticRequest(client: Format, model: string, extra: object = {}): object {
  const limit = { chat: 'max_tokens', responses: 'max_output_tokens', messages: 'max_tokens' }[client];
  return SPEECH[client].request({ stream: true, model, [limit]: OUTPUT_LIMIT, ...extra });
}

/** A key whose balance carries the first slice of this request and `SPARE_TOKENS` more. */
export function keyForOneSlice(gateway: StartedGateway, body: object): Promise<CreatedKey> {
  const tools = 'tools' in body ? ADDED_TOKENS_MAX : 32;
  const budget = Buffer.byteLength(JSON.stringify(body)) + tools + FIRST_TOKENS + SPARE_TOKENS;
  return gateway.tokenKey({ budget: String(budget) });
}

interface Event {
  readonly type: string;
  readonly index: number;
  readonly sequence_number: number;
  readonly id: string;
  readonly choices: readonly { readonly finish_reason: string | null }[];
  readonly delta: { readonly stop_reason?: string };
  readonly usage?: object | null;
  readonly response: {
    readonly status: string;
    readonly incomplete_details: { readonly reason: string } | null;
    readonly output: readonly { readonly id: string; readonly type: string; readonly status: string }[];
    readonly usage: { readonly output_tokens: number };
  };
  readonly item: { readonly id: string };
}

/** That a stream ends as its format ends at the length limit, with everything closed that was open; returns its events. */
export function assertCut(client: Format, text: string): readonly unknown[] {
  const all = events(text);
  switch (client) {
    case 'chat':
      assertChatCut(all);
      break;
    case 'messages':
      assertMessagesCut(all as Event[]);
      break;
    case 'responses':
      assertResponsesCut(all as Event[]);
  }
  return all;
}

function assertChatCut(all: readonly unknown[]): void {
  assert.equal(all.at(-1), '[DONE]');
  const chunks = all.slice(0, -1) as Event[];
  assert.equal(new Set(chunks.map(({ id }) => id)).size, 1, 'one id');
  const reasons = chunks.flatMap(({ choices }) => choices.map(({ finish_reason }) => finish_reason));
  assert.deepEqual(
    reasons.filter((reason) => reason !== null),
    ['length'],
  );
  assert.equal(reasons.at(-1), 'length');
}

function assertMessagesCut(all: readonly Event[]): void {
  assertBlocksClosed(all);
  const types = all.map(({ type }) => type);
  assert.deepEqual(types.slice(-2), ['message_delta', 'message_stop']);
  assert.equal(types.filter((type) => type === 'message_delta').length, 1);
  assert.equal(all.at(-2)?.delta.stop_reason, 'max_tokens');
  assert.ok(all.at(-2)?.usage, 'usage');
}

function assertBlocksClosed(all: readonly unknown[]): void {
  const open = new Set<number>();
  for (const { type, index } of all as Event[]) {
    if (type === 'content_block_start') open.add(index);
    if (type === 'content_block_delta') assert.ok(open.has(index), `block ${index} is open`);
    if (type === 'content_block_stop') assert.ok(open.delete(index), `block ${index} was open`);
  }
  assert.deepEqual([...open], []);
}

function assertResponsesCut(all: readonly Event[]): void {
  assert.deepEqual(
    all.map(({ sequence_number }) => sequence_number),
    all.map((_, index) => index),
  );
  const last = all.at(-1);
  assert.equal(last?.type, 'response.incomplete');
  assert.equal(last.response.status, 'incomplete');
  assert.deepEqual(last.response.incomplete_details, { reason: 'max_output_tokens' });
  assert.ok(last.response.usage.output_tokens > 0);
  const added = all.filter(({ type }) => type === 'response.output_item.added').map(({ item }) => item.id);
  const done = all.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item.id);
  assert.deepEqual([...done].sort(), [...added].sort(), 'every item ends');
  assert.deepEqual(
    last.response.output.map(({ id }) => id),
    added,
  );
}
