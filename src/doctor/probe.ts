/** A real generation of the smallest size, by the same lanes and adapters as a client's request. It costs money. */
import { GatewayError } from '../core/conditions.ts';
import type { Format } from '../core/endpoints.ts';
import type { Model, Target } from '../core/model.ts';
import type { Provider } from '../core/provider.ts';
import { Lanes } from '../exchange/lanes.ts';
import { ByteCollector } from '../lib/byte-collector.ts';
import { addressOf } from '../provider/adapters.ts';
import type { Upstream } from '../provider/upstream.ts';
import { FORMATS } from '../wire/formats.ts';
import { parseBody } from '../wire/json/parse-request.ts';
import type { Lane } from '../wire/lane.ts';
import { attention, type Check, ok } from './report.ts';
import { saidBy, shown } from './words.ts';

const PROMPT = 'Say OK.';
const ANSWER_BYTES_MAX = 1_024 * 1_024;
/** The responses format has a least limit of its own. */
const OUTPUT_LIMIT: Readonly<Record<Format, number>> = { chat: 1, messages: 1, responses: 16 };
/** Reasoning models refuse to end within so few tokens, after they have done the work: they serve. */
const RAN_INTO_LIMIT = /max_tokens or model output limit was reached/i;

export interface ProbeResult {
  readonly check: Check;
  /** Null where no answer came. */
  readonly status: number | null;
  readonly tookMs: number;
}

export interface ProbeOrder {
  readonly upstream: Upstream;
  readonly provider: Provider;
  readonly model: Model;
  readonly target: Target;
  readonly apiKey: string | null;
  readonly timeoutMs: number;
}

export async function probe(order: ProbeOrder): Promise<ProbeResult> {
  const { provider, timeoutMs } = order;
  const startedAtMs = performance.now();
  const ended = (check: Check, status: number | null): ProbeResult => ({
    check,
    status,
    tookMs: Math.round(performance.now() - startedAtMs),
  });
  try {
    const lane = laneTo(order);
    const answer = await send(order, lane);
    if (answer === null) return ended(attention(`no answer within ${timeoutMs / 1000} s`), null);
    if ('failure' in answer) return ended(attention(shown(provider, answer.failure)), null);
    return ended(judge(provider, lane, answer), answer.status);
  } catch (error) {
    // A package that cannot be used, or a request that no lane can carry: told like any other failure.
    return ended(attention(shown(provider, error instanceof Error ? error.message : String(error))), null);
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
    return attention(`status ${status}: ${saidBy(provider, text)}`);
  }
  try {
    lane.whole(body);
    return ok('answers');
  } catch (error) {
    if (error instanceof GatewayError) return attention(`its answer is not one of this format: ${error.message}`);
    throw error;
  }
}

function laneTo({ model, target, provider }: ProbeOrder): Lane {
  const { format } = target;
  const prompt = format === 'responses' ? { input: PROMPT } : { messages: [{ role: 'user', content: PROMPT }] };
  const limit = format === 'messages' ? { max_tokens: OUTPUT_LIMIT.messages } : {};
  const parsed = parseBody(Buffer.from(JSON.stringify({ model: model.id, ...prompt, ...limit })));
  const facts = FORMATS[format].facts(parsed.body, parsed.bytes, { betas: false });
  const lanes = new Lanes({
    format,
    request: { ...parsed, facts },
    model,
    writesAnew: false,
    likelyInputTokens: () => 1,
  });
  return lanes.to(target, provider);
}

/** Null: nothing came in time. */
function send(order: ProbeOrder, lane: Lane): Promise<Answer | { readonly failure: string } | null> {
  const { upstream, provider, target, apiKey, timeoutMs } = order;
  const body = lane.requestBody({ upstreamModel: target.upstreamModel, outputLimit: OUTPUT_LIMIT[target.format] });
  const address = addressOf(provider, target.format, target.upstreamModel, apiKey, { version: null, betas: null });
  const { connectMs } = provider.timeouts;
  const timeouts = {
    connectMs: Math.min(connectMs, timeoutMs),
    firstByteMs: timeoutMs,
    idleMs: timeoutMs,
    totalMs: timeoutMs,
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
