/** Clients that have responses made in the background and go away, and what must have become of those in the end. */
import { setTimeout as delay } from 'node:timers/promises';
import { isObject, type JsonObject, parseJson } from '../../src/lib/json.ts';
import type { Random } from '../simulation/random.ts';
import { type Account, type Call, newCall } from './book.ts';
import type { Round } from './clients.ts';
import { FORMATS } from './formats.ts';
import { MODELS, type World } from './world.ts';

const WITHIN_MS = 60_000;

interface Run {
  readonly id: string;
  readonly call: Call;
}

/** A key, and the runs that its client was told of. */
export interface Runner {
  readonly account: Account;
  readonly runs: Run[];
}

/** One run after the other; some are cancelled, none is waited for. */
export async function runAgain(round: Round, client: number, { account, runs }: Runner, random: Random): Promise<void> {
  while (!round.over) {
    const call = newCall();
    account.calls.push(call);
    const text = `[[tokens=${random.between(1, 120)}]] [[delay=${random.between(1, 15)}]]`;
    const body = { ...FORMATS.responses.body({ model: random.pick(MODELS), text, stream: false }), background: true };
    try {
      const response = await send(round.origin(client), account, '', { method: 'POST', body: JSON.stringify(body) });
      call.status = response.status;
      call.requestId = response.headers.get('x-request-id');
      const { id } = objectIn(await response.text());
      if (response.status === 200 && typeof id === 'string') {
        runs.push({ id, call });
        if (random.chance(25)) {
          await delay(random.int(600));
          // Through another gateway, where there is one.
          await (await send(round.origin(client + 1), account, `/${id}/cancel`, { method: 'POST' })).text();
        }
      }
    } catch {
      // Nobody listened, or the connection broke.
    }
    call.endedAtMs = performance.now();
    await delay(random.between(50, 400));
  }
}

/** What is wrong with the runs; what they came to is noted for the comparison with the charges. */
export async function endsOf(world: World, runners: readonly Runner[]): Promise<string[]> {
  const deadlineMs = Date.now() + world.recoveryMs;
  const found: string[] = [];
  for (const { account, runs } of runners) {
    for (const { id, call } of runs) {
      const say = (what: string): number => found.push(`key ${account.key.id}: the run ${id} ${what}`);
      const response = await ended(world, account, id, deadlineMs);
      if (response === null) {
        say('has no end');
        continue;
      }
      const { status } = response;
      if (status === 'completed') call.tokens = FORMATS.responses.usage(JSON.stringify(response), false);
      else if (status !== 'failed' && status !== 'cancelled') say(`ended as ${String(status)}`);
      const readers = [0, 1].map((client) => eventsOf(world, account, id, client, deadlineMs));
      const [first = '', second = ''] = await Promise.all(readers);
      if (first !== second) say(`is not the same for two readers: ${difference(first, second)}`);
      if (!first.includes(`"type":"response.${String(status)}"`)) say('has no terminal event');
    }
  }
  return found;
}

async function ended(world: World, account: Account, id: string, deadlineMs: number): Promise<JsonObject | null> {
  for (;;) {
    try {
      const response = await send(world.origin(0), account, `/${id}`);
      const value = objectIn(await response.text());
      if (response.status === 200 && value.status !== 'in_progress') return value;
    } catch {
      // The gateway may still be coming back.
    }
    if (Date.now() > deadlineMs) return null;
    await delay(100);
  }
}

/** Of a gateway that may still be cut off from the database, until it has them. */
async function eventsOf(
  world: World,
  account: Account,
  id: string,
  client: number,
  deadlineMs: number,
): Promise<string> {
  for (;;) {
    const response = await send(world.origin(client), account, `/${id}?stream=true`);
    const text = await response.text();
    if (response.status === 200) return text.replaceAll(': keep-alive\n\n', '');
    if (Date.now() > deadlineMs) return `${response.status} ${text}`;
    await delay(100);
  }
}

function difference(first: string, second: string): string {
  let at = 0;
  while (at < first.length && first[at] === second[at]) at++;
  const around = (text: string): string => JSON.stringify(text.slice(Math.max(0, at - 80), at + 80));
  return `${around(first)} and ${around(second)}`;
}

function send(origin: string, { key }: Account, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key.key}` };
  const signal = AbortSignal.timeout(WITHIN_MS);
  return fetch(`${origin}${FORMATS.responses.path}${path}`, { ...init, headers, signal });
}

function objectIn(text: string): JsonObject {
  const value = parseJson(text);
  return isObject(value) ? value : {};
}
