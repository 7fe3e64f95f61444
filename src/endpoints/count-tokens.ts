/** Input tokens of a messages or responses request: the provider's own count where it offers one, the local counter otherwise. */
import { GatewayError } from '../core/conditions.ts';
import type { Format } from '../core/endpoints.ts';
import type { Target } from '../core/model.ts';
import type { Provider } from '../core/provider.ts';
import { AttemptRecord, type RequestRecord } from '../core/request-record.ts';
import { countAgainstRateLimit } from '../exchange/admit.ts';
import { credentialNumber, forwardedHeaders } from '../exchange/attempt-setup.ts';
import { authenticate } from '../exchange/authenticate.ts';
import { expander } from '../exchange/expand-request.ts';
import { noteFailedAttempt } from '../exchange/failed-attempt.ts';
import { configInForce, type Gateway } from '../exchange/gateway.ts';
import { makePlan } from '../exchange/make-plan.ts';
import type { Plan } from '../exchange/plan.ts';
import { noteRead, readRequest } from '../exchange/read.ts';
import type { GenerationRequest } from '../exchange/request.ts';
import { ByteCollector } from '../lib/byte-collector.ts';
import { isObject, parseJson } from '../lib/json.ts';
import { addressOf } from '../provider/adapters.ts';
import { failureInAnswer, failureOfStatus, failureOfTransport, type ProviderFailure } from '../provider/failure.ts';
import { secretsOf } from '../provider/secrets.ts';
import type { UpstreamCall } from '../provider/upstream.ts';
import { change } from '../wire/json/edit.ts';

/** A client waits for a count before it sends the request itself: better a local figure than a late one. */
const PROVIDER_WAIT_MS = 5_000;
const ANSWER_BYTES_MAX = 64 * 1_024;
const NO_KEYS_REFUSED: ReadonlySet<string | null> = new Set();

/** How each format calls it: the path beside that of generation, and the members of the answer beside the count. */
const COUNTS: Readonly<Record<Format, { readonly suffix: string; readonly members: object } | null>> = {
  chat: null,
  messages: { suffix: '/count_tokens', members: {} },
  responses: { suffix: '/input_tokens', members: { object: 'response.input_tokens' } },
};

export async function countTokens(
  gateway: Gateway,
  request: GenerationRequest,
): Promise<{ readonly body: { readonly input_tokens: number } }> {
  const config = await configInForce(gateway);
  const caller = await authenticate(gateway, request);
  const read = await readRequest(request, config.policy.limits, expander(gateway, caller.key.id, config.policy));
  noteRead(request.record, config.catalog, read);
  const { key } = await countAgainstRateLimit(gateway, request, caller);
  const plan = makePlan(config, key, request.endpoint, read, null);
  if (plan instanceof GatewayError) throw plan;
  const call = providerCall(gateway, request, plan, key.id);
  const counted = call && (await ask(gateway, request.record, call));
  const members = COUNTS[request.endpoint.format]?.members;
  return { body: { ...members, input_tokens: counted ?? plan.input.likely } };
}

/** A call for a count, and whom it goes to. */
interface CountCall {
  readonly target: Target;
  readonly provider: Provider;
  readonly apiKey: string | null;
  readonly call: UpstreamCall;
}

/** Null where no target of the model counts tokens itself, or those that do fail: a count does not wait for them. */
function providerCall(
  gateway: Gateway,
  { endpoint: { format }, headers, record }: GenerationRequest,
  plan: Plan,
  keyId: string,
): CountCall | null {
  const { credentials, health } = gateway.routing;
  for (const target of plan.targets) {
    const provider = gateway.catalog().providers.get(target.provider);
    if (!provider?.countsTokens || target.format !== format) continue;
    if (provider.circuitBreaker && health.openedAtMs(target, keyId) !== null) {
      record.skipped = [...record.skipped, { target, reason: 'circuit_open' }];
      continue;
    }
    const { upstreamModel } = target;
    const apiKey = credentials.take(provider, NO_KEYS_REFUSED) ?? null;
    const call = {
      ...addressOf(provider, format, upstreamModel, apiKey, forwardedHeaders(headers), COUNTS[format]?.suffix),
      body: change(plan.request.bytes, [{ path: ['model'], json: JSON.stringify(upstreamModel) }]),
      timeouts: provider.timeouts,
    };
    return { target, provider, apiKey, call };
  }
  return null;
}

/**
 * Null for whatever goes wrong: the local counter answers then. It is recorded and logged like every other call, but routing
 * learns nothing from it: providers limit and allow counting on its own, so it says nothing of generation.
 */
function ask({ upstream, log }: Gateway, record: RequestRecord, asked: CountCall): Promise<number | null> {
  const { target, provider, call } = asked;
  const attempt = new AttemptRecord(target, 'passthrough', credentialNumber(asked), 0);
  record.attempts.push(attempt);
  attempt.startedAt = performance.now();
  return new Promise((resolve) => {
    const collected = new ByteCollector();
    let retryAfter: string | null = null;
    const ended = (unlessRefused: (text: string) => number | ProviderFailure): void => {
      clearTimeout(timer);
      const { status } = attempt;
      const text = collected.whole().toString('utf8');
      // A refusal is one, whether or not its text has come whole.
      const refused = status !== null && status !== 200;
      const outcome = refused ? refusalOf(status, text, retryAfter, provider) : unlessRefused(text);
      attempt.end(typeof outcome === 'number' ? 'complete' : 'failed', secretsOf(provider));
      if (typeof outcome !== 'number') {
        noteFailedAttempt(log, record, attempt, outcome, NOT_COUNTED);
      }
      resolve(typeof outcome === 'number' ? outcome : null);
    };
    const giveUp = (): void => {
      if (attempt.outcome !== 'running') return;
      handle.abort();
      ended(() => failureInAnswer('upstream_timeout', TOO_LATE));
    };
    // An answer that has arrived meanwhile is read first: a process that was held up is no slow provider.
    const timer = setTimeout(() => setImmediate(giveUp), PROVIDER_WAIT_MS);
    const handle = upstream.send(call, {
      onHeaders: (status, headers) => {
        attempt.status = status;
        attempt.providerRequestId = headers.requestId;
        attempt.firstByteAt = performance.now();
        retryAfter = headers.retryAfter;
      },
      onData: (chunk) => {
        if (collected.length <= ANSWER_BYTES_MAX) collected.add(chunk);
      },
      onEnd: () => ended((text) => countOf(text) ?? failureInAnswer('upstream_error', NO_COUNT)),
      onFailure: (failure) => ended(() => failureOfTransport(failure)),
    });
  });
}

const NOT_COUNTED = 'tokens are estimated, because a provider did not count them';
const TOO_LATE = `The provider gave no count within ${PROVIDER_WAIT_MS / 1_000} s.`;
const UNKNOWN_HERE = 'The provider does not know this model, or does not count tokens.';
const NO_COUNT = 'The provider answered with something that is no count of tokens.';

function refusalOf(status: number, text: string, retryAfter: string | null, provider: Provider): ProviderFailure {
  const failure = failureOfStatus(status, text, retryAfter, secretsOf(provider));
  return status === 404 ? { ...failure, message: UNKNOWN_HERE, kept: UNKNOWN_HERE } : failure;
}

function countOf(text: string): number | null {
  const answer = parseJson(text);
  const count = isObject(answer) ? answer.input_tokens : null;
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null;
}
