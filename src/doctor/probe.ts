/** The smallest possible generation, sent through the same lanes and adapters as a client's request. It costs money. */
import { GatewayError } from '../core/conditions.ts';
import type { Format } from '../core/endpoints.ts';
import type { Model, Target } from '../core/model.ts';
import type { Provider } from '../core/provider.ts';
import { Lanes } from '../exchange/lanes.ts';
import { ByteCollector } from '../lib/byte-collector.ts';
import { addressOf } from '../provider/adapters.ts';
import type { Upstream } from '../provider/upstream.ts';
import { NO_COST_FIELDS } from '../wire/cost-fields.ts';
import { FORMATS } from '../wire/formats.ts';
import { parseBody } from '../wire/json/parse-request.ts';
import type { Lane } from '../wire/lane.ts';
import { providerMessage, redacted } from './format.ts';
import { type Check, ok, problem } from './report.ts';

const PROMPT = 'Say OK.';
const ANSWER_BYTES_MAX = 1_024 * 1_024;
/** The responses format has a minimum of 16. */
const OUTPUT_LIMIT: Readonly<Record<Format, number>> = { chat: 1, messages: 1, responses: 16 };
/** Reasoning models answer 400 when they cannot finish within so few tokens: the model works. */
const RAN_INTO_LIMIT = /max_tokens or model output limit was reached/i;

export interface ProbeResult {
  readonly check: Check;
  /** Null where no answer came. */
  readonly status: number | null;
  readonly tookMs: number;
}

interface ProbeInput {
  readonly upstream: Upstream;
  readonly provider: Provider;
  readonly model: Model;
  readonly target: Target;
  readonly apiKey: string | null;
  readonly timeoutMs: number;
}

export async function probe(input: ProbeInput): Promise<ProbeResult> {
  const { provider, timeoutMs } = input;
  const startedAtMs = performance.now();
  const ended = (check: Check, status: number | null): ProbeResult => ({
    check,
    status,
    tookMs: Math.round(performance.now() - startedAtMs),
  });
  try {
    const lane = laneTo(input);
    const answer = await send(input, lane);
    if (answer === null) return ended(problem(`no answer within ${timeoutMs / 1000} s`), null);
    if ('failure' in answer) return ended(problem(redacted(provider, answer.failure)), null);
    return ended(judge(provider, lane, answer), answer.status);
  } catch (error) {
    // A package that cannot be loaded, or a request that no lane can translate, is reported like any other failure.
    return ended(problem(redacted(provider, error instanceof Error ? error.message : String(error))), null);
  }
}

interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

function judge(provider: Provider, lane: Lane, { status, body }: Answer): Check {
  const text = body.toString('utf8');
  if (status < 200 || status > 299) {
    if (status === 400 && RAN_INTO_LIMIT.test(text)) return ok('answers');
    return problem(`status ${status}: ${providerMessage(provider, text)}`);
  }
  try {
    lane.whole(body);
    return ok('answers');
  } catch (error) {
    if (error instanceof GatewayError) return problem(`its answer does not have this format: ${error.message}`);
    throw error;
  }
}

function laneTo({ model, target, provider }: ProbeInput): Lane {
  const { format } = target;
  const prompt = format === 'responses' ? { input: PROMPT } : { messages: [{ role: 'user', content: PROMPT }] };
  const limit = format === 'messages' ? { max_tokens: OUTPUT_LIMIT.messages } : {};
  const parsed = parseBody(Buffer.from(JSON.stringify({ model: model.id, ...prompt, ...limit })));
  const info = FORMATS[format].validateRequest(parsed.body, parsed.bytes, { betas: false });
  const lanes = new Lanes({
    format,
    request: { ...parsed, info, costFields: NO_COST_FIELDS },
    model,
    mayBeCut: false,
    likelyInputTokens: () => 1,
    usableModel: () => model,
    tokensMax: () => Number.POSITIVE_INFINITY,
  });
  return lanes.to(target, provider);
}

/** Null: no answer in time. */
function send(input: ProbeInput, lane: Lane): Promise<Answer | { readonly failure: string } | null> {
  const { upstream, provider, target, apiKey, timeoutMs } = input;
  const body = lane.requestBody({ upstreamModel: target.upstreamModel, outputLimit: OUTPUT_LIMIT[target.format] });
  const address = addressOf(provider, target.format, target.upstreamModel, apiKey, { version: null, betas: null });
  const { connectMs } = provider.timeouts;
  // Later than the probe's own, which says the same in the same words whatever was waited for.
  const laterMs = 2 * timeoutMs;
  const timeouts = {
    connectMs: Math.min(connectMs, laterMs),
    firstByteMs: laterMs,
    idleMs: laterMs,
    totalMs: laterMs,
  };
  return new Promise((resolve) => {
    const collected = new ByteCollector();
    let status = 0;
    const end = (answer: Answer | { readonly failure: string } | null): void => {
      clearTimeout(timer);
      resolve(answer);
    };
    const handle = upstream.send(
      { ...address, body, timeouts },
      {
        onHeaders: (answered) => {
          status = answered;
        },
        onData: (chunk) => {
          if (collected.length <= ANSWER_BYTES_MAX) collected.add(chunk);
        },
        onEnd: () => end({ status, body: collected.whole() }),
        onFailure: ({ message }) => end({ failure: message }),
      },
    );
    const timer = setTimeout(() => {
      handle.abort();
      end(null);
    }, timeoutMs);
  });
}
