/** Input tokens of a Format B request: the provider's own count where it offers one, the local counter otherwise. */
import { GatewayError } from '../core/conditions.ts';
import { countAgainstRateLimit } from '../exchange/admit.ts';
import { forwardedHeaders } from '../exchange/attempt-setup.ts';
import { authenticate } from '../exchange/authenticate.ts';
import type { Gateway } from '../exchange/gateway.ts';
import { makePlan } from '../exchange/make-plan.ts';
import type { Plan } from '../exchange/plan.ts';
import { noteRead, readRequest } from '../exchange/read.ts';
import type { GenerationRequest, RequestHeaders } from '../exchange/request.ts';
import { ByteCollector } from '../lib/byte-collector.ts';
import { isObject } from '../lib/json.ts';
import { addressOf } from '../provider/adapters.ts';
import type { Upstream, UpstreamCall } from '../provider/upstream.ts';
import { change } from '../wire/json/edit.ts';

/** A client waits for a count before it sends the request itself: better a local figure than a late one. */
const PROVIDER_WAIT_MS = 5_000;
const ANSWER_BYTES_MAX = 64 * 1_024;
const NO_KEYS_REFUSED: ReadonlySet<string | null> = new Set();

export async function countTokens(
  gateway: Gateway,
  request: GenerationRequest,
): Promise<{ readonly body: { readonly input_tokens: number } }> {
  const config = { catalog: gateway.catalog(), policy: gateway.policy() };
  const caller = await authenticate(gateway, request);
  const read = await readRequest(request, config.policy.limits.bodyBytes);
  noteRead(request.record, config.catalog, read);
  const { key } = await countAgainstRateLimit(gateway, request, caller);
  const plan = makePlan(config, key, request.endpoint, read, null);
  if (plan instanceof GatewayError) throw plan;
  const call = providerCall(gateway, request.headers, plan);
  const counted = call && (await ask(gateway.upstream, call));
  return { body: { input_tokens: counted ?? plan.input.likely } };
}

/** Null where no target of the model counts tokens itself. */
function providerCall(gateway: Gateway, headers: RequestHeaders, plan: Plan): UpstreamCall | null {
  for (const target of plan.targets) {
    const provider = gateway.catalog().providers.get(target.provider);
    if (!provider?.countsTokens || target.format !== 'messages') continue;
    const { upstreamModel } = target;
    const apiKey = gateway.routing.credentials.take(provider, NO_KEYS_REFUSED) ?? null;
    return {
      ...addressOf(provider, 'messages', upstreamModel, apiKey, forwardedHeaders(headers), '/count_tokens'),
      body: change(plan.request.bytes, [{ path: ['model'], json: JSON.stringify(upstreamModel) }]),
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
