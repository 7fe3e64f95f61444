/** Input tokens of a Format B request: the provider's own count where it offers one, the local counter otherwise. */

import { takePlace } from '../exchange/admit.ts';
import { forwardedHeaders } from '../exchange/forwarded.ts';
import type { Gateway } from '../exchange/gateway.ts';
import { resolve } from '../exchange/make-plan.ts';
import type { Plan } from '../exchange/plan.ts';
import { Reading } from '../exchange/read.ts';
import type { Arrival } from '../exchange/request.ts';
import type { ReplyNotes } from '../exchange/response-sink.ts';
import { ByteCollector } from '../lib/byte-collector.ts';
import { isObject } from '../lib/json.ts';
import { addressOf } from '../provider/adapters.ts';
import type { Upstream, UpstreamCall } from '../provider/upstream.ts';
import { change } from '../wire/json/edit.ts';

/** A client waits for a count before it sends the request itself: better a local figure than a late one. */
const PROVIDER_WAIT_MS = 5_000;
const ANSWER_BYTES_MAX = 64 * 1_024;
const NO_KEYS_REFUSED: ReadonlySet<string | null> = new Set();

export async function countTokens(gateway: Gateway, arrival: Arrival, notes: ReplyNotes): Promise<number> {
  const catalog = gateway.catalog();
  const policy = gateway.policy();
  const reading = new Reading(arrival, catalog, policy, notes);
  const { key } = await takePlace(gateway, arrival.caller, (rate) => reading.onRate(rate));
  const request = reading.valid();
  const plan = resolve({ catalog, policy, key, endpoint: arrival.endpoint }, request);
  const call = providerCall(gateway, arrival, plan, request.bytes);
  return (call && (await ask(gateway.upstream, call))) ?? plan.input.likely;
}

function providerCall(gateway: Gateway, arrival: Arrival, plan: Plan, bytes: Buffer): UpstreamCall | null {
  for (const target of plan.targets) {
    const provider = gateway.catalog().providers.get(target.provider);
    if (!provider?.countsTokens || target.format !== 'messages') continue;
    const apiKey = gateway.standing.keys.take(provider, NO_KEYS_REFUSED) ?? null;
    return {
      ...addressOf(
        provider,
        'messages',
        target.upstreamModel,
        apiKey,
        forwardedHeaders(arrival.headers),
        '/count_tokens',
      ),
      body: change(bytes, [{ path: ['model'], json: JSON.stringify(target.upstreamModel) }]),
      timeouts: { ...provider.timeouts, firstByteMs: PROVIDER_WAIT_MS, idleMs: PROVIDER_WAIT_MS },
    };
  }
  return null;
}

/** Null for whatever goes wrong: the local counter answers then. */
function ask(upstream: Upstream, call: UpstreamCall): Promise<number | null> {
  return new Promise((resolve) => {
    const collected = new ByteCollector();
    let ok = false;
    const timer = setTimeout(() => {
      handle.abort();
      resolve(null);
    }, PROVIDER_WAIT_MS);
    const handle = upstream.send(call, {
      onHeaders: (status) => {
        ok = status === 200;
      },
      onData: (chunk) => {
        if (collected.length <= ANSWER_BYTES_MAX) collected.add(chunk);
      },
      onEnd: () => {
        clearTimeout(timer);
        resolve(ok ? countOf(collected.whole().toString('utf8')) : null);
      },
      onFailure: () => {
        clearTimeout(timer);
        resolve(null);
      },
    });
  });
}

function countOf(text: string): number | null {
  try {
    const answer: unknown = JSON.parse(text);
    const count = isObject(answer) ? answer.input_tokens : null;
    return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null;
  } catch {
    return null;
  }
}
