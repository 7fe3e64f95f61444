/** Text whose tokens are known without a tokenizer, and whether what went out of it was charged. */
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import { isObject } from '../../src/lib/json.ts';
import { events } from '../support/requests.ts';
import { type Arena, PRICE } from './arena.ts';

/** One token for every tokenizer, and four bytes, which is what a token is estimated with. */
const WORD = ' cat';
/** What one token of output costs a key: in nanos of a credit, or in tokens. */
export const OUTPUT_NANOS = PRICE.output * 1_000;
/** Input, and the difference between two tokenizers. */
const INPUT_TOKENS_MAX = 500;
const TOLERANCE = 0.02;

export function words(tokens: number): string {
  return WORD.repeat(tokens);
}

export function tokensIn(text: string | Buffer): number {
  const word = Buffer.from(WORD);
  const bytes = Buffer.from(text);
  let count = 0;
  for (let at = bytes.indexOf(word); at !== -1; at = bytes.indexOf(word, at + word.length)) count += 1;
  return count;
}

/** Of a stream: what its deltas say, or an event that repeats it whole, if that says more. */
export function tokensReceived(stream: string): number {
  let deltas = 0;
  let most = 0;
  for (const event of events(wholeEvents(stream))) {
    const tokens = tokensIn(JSON.stringify(event));
    const type = isObject(event) && typeof event.type === 'string' ? event.type : 'chat';
    if (/^(chat|content_block_(start|delta)|.*\.delta)$/.test(type)) deltas += tokens;
    else most = Math.max(most, tokens);
  }
  return Math.max(deltas, most);
}

function wholeEvents(stream: string): string {
  return stream.slice(0, stream.lastIndexOf('\n\n') + 2);
}

export interface Bought {
  readonly requestId: string;
  /** Tokens of output that the client has seen. */
  readonly received: number;
  /** Tokens of output that the provider has made. */
  readonly produced: number;
}

export interface Purse {
  readonly key: CreatedKey;
  readonly name: string;
  /** Of output. In nanos for a credit key, 1 for a token budget. */
  readonly perToken: number;
  /** The most that may be spent, in the same unit; null where it is no matter. */
  readonly limit: number | null;
}

export interface Sums {
  readonly received: number;
  readonly charged: number;
}

/** Each charge is at least what went out and at most what was made, and all together stay within the limit. */
export async function checkMoney(arena: Arena, purse: Purse, bought: readonly Bought[]): Promise<Sums> {
  const { key, name, perToken, limit } = purse;
  await arena.settled([key]);
  const charges = await arena.charges(key);
  const say = (what: string): void => arena.fault(`${name}: ${what}`);
  let received = 0;
  let charged = 0;
  let free = 0;
  let dear = 0;
  for (const one of bought) {
    const amount = charges.get(one.requestId) ?? 0;
    received += one.received * perToken;
    charged += amount;
    if (amount < one.received * perToken * (1 - TOLERANCE)) free += 1;
    if (amount > (one.produced * (1 + TOLERANCE) + INPUT_TOKENS_MAX) * perToken) dear += 1;
  }
  const unit = (value: number): string => (perToken === 1 ? `${value} tokens` : `${(value / 1e9).toFixed(6)} credits`);
  if (free > 0)
    say(`${free} of ${bought.length} calls were charged less than went out: ${unit(received)} for ${unit(charged)}`);
  if (dear > 0) say(`${dear} of ${bought.length} calls were charged more than was made`);
  if (limit !== null && charged > limit) say(`${unit(charged)} were charged of ${unit(limit)}`);
  if (limit !== null && received > limit) say(`answers worth ${unit(received)} went out on ${unit(limit)}`);
  return { received, charged };
}
