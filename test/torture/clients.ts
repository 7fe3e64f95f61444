/** Clients that go on asking whatever happens, and write down what they see. */
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Format } from '../../src/core/endpoints.ts';
import type { Random } from '../simulation/random.ts';
import { type Account, type Call, newCall } from './book.ts';
import { FORMAT_NAMES, FORMATS } from './formats.ts';
import { MODELS } from './world.ts';

/** Nothing here may take longer: not a drain, not a stalled database, not a freeze. */
const CALL_WITHIN_MS = 240_000;
const PAUSE_MS = 50;

export interface Ask extends Way {
  readonly stream: boolean;
  readonly tokens: number;
  readonly delayMs: number;
  readonly maxTokens?: number;
  readonly idempotencyKey?: string;
  /** Goes away after so many pieces of the answer. */
  readonly cancelAfter?: number;
}

/** By which route a model is asked: with three formats and a model of either kind, native or translated. */
interface Way {
  readonly format: Format;
  readonly model: string;
}

export const FIRST_WAY: Way = { format: 'chat', model: MODELS[0] };

function anyWay(random: Random): Way {
  return { format: random.pick(FORMAT_NAMES), model: random.pick(MODELS) };
}

/** One call. Never rejects. */
export async function ask(origin: string, account: Account, wanted: Ask): Promise<Call> {
  const call = newCall();
  account.calls.push(call);
  const format = FORMATS[wanted.format];
  const hash = createHash('sha256');
  let text = '';
  try {
    const leave = new AbortController();
    const response = await fetch(origin + format.path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${account.key.key}`,
        ...(wanted.idempotencyKey === undefined ? {} : { 'idempotency-key': wanted.idempotencyKey }),
      },
      body: JSON.stringify(format.body({ ...wanted, text: `[[tokens=${wanted.tokens}]] [[delay=${wanted.delayMs}]]` })),
      signal: AbortSignal.any([leave.signal, AbortSignal.timeout(CALL_WITHIN_MS)]),
    });
    call.status = response.status;
    call.requestId = response.headers.get('x-request-id');
    call.replayed = response.headers.get('idempotent-replayed') === 'true';
    let pieces = 0;
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString('latin1');
      hash.update(chunk);
      pieces += 1;
      if (wanted.cancelAfter !== undefined && pieces > wanted.cancelAfter) leave.abort();
    }
    call.code = /"code":"(\w+)"/.exec(text)?.[1] ?? null;
    if (call.status === 200) call.tokens = format.usage(text, wanted.stream);
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError') call.code = 'no end';
    // Otherwise the connection broke, or this client left.
  }
  call.endedAtMs = performance.now();
  if (call.tokens !== null && wanted.idempotencyKey !== undefined) compareBytes(account, hash.digest('hex'), call);
  return call;
}

/** Another answer under the same key must be the first one, byte for byte. */
function compareBytes(account: Account, digest: string, call: Call): void {
  account.digest ??= digest;
  if (account.digest !== digest) {
    call.status = -1;
    call.code = 'a replay with other bytes';
  }
}

/** Nobody listened: a client that asks again at once learns nothing new. */
function outage({ status }: Call): number {
  return status === 0 ? 150 : 0;
}

/** Until the round is over. */
export interface Round {
  over: boolean;
  origin(client: number): string;
}

/** One call after the other: whole ones, streams, and streams that are left. */
export async function callAgain(round: Round, client: number, account: Account, random: Random): Promise<void> {
  while (!round.over) {
    const stream = random.chance(65);
    const call = await ask(round.origin(client), account, {
      ...anyWay(random),
      stream,
      tokens: random.between(1, 60),
      delayMs: random.between(1, 12),
      ...(stream && random.chance(25) ? { cancelAfter: random.int(20) } : {}),
    });
    await delay(random.int(PAUSE_MS) + outage(call));
  }
}

/** Many at once on a balance that carries a few of them. */
export async function overspend(round: Round, client: number, account: Account, random: Random): Promise<void> {
  while (!round.over) {
    const tokens = random.between(5, 20);
    const at = random.between(6, 12);
    const calls = await Promise.all(
      Array.from({ length: at }, (_, i) =>
        ask(round.origin(client + i), account, {
          ...anyWay(random),
          stream: random.chance(50),
          tokens,
          delayMs: 2,
          maxTokens: 20,
        }),
      ),
    );
    await delay(random.between(PAUSE_MS, 400) + Math.max(...calls.map(outage)));
  }
}

/** The same request under the same Idempotency-Key, until it is known how it ended; then once more. */
export async function insist(round: Round, client: number, account: Account, random: Random): Promise<void> {
  const wanted: Ask = {
    ...anyWay(random),
    stream: random.chance(60),
    tokens: random.between(5, 120),
    delayMs: random.between(2, 15),
    idempotencyKey: 'once',
  };
  for (let tries = 0; ; tries++) {
    const call = await ask(round.origin(client + tries), account, wanted);
    const known = call.tokens !== null || call.code === 'idempotency_conflict';
    if (known && round.over) return;
    if (round.over && tries > 0) return;
    await delay(known ? random.between(300, 1_500) : random.between(PAUSE_MS, 250));
  }
}

/** As fast as the limit refuses, for the whole run. */
export async function pressLimit(
  over: () => boolean,
  origin: (client: number) => string,
  account: Account,
): Promise<void> {
  for (let client = 0; !over(); client++) {
    await ask(origin(client), account, { ...FIRST_WAY, stream: false, tokens: 1, delayMs: 1 });
    await delay(120);
  }
}
