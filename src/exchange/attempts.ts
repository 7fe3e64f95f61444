/** The attempts of an exchange, one at a time: the next is made only when the one before has failed. */
import type { Target } from '../core/model.ts';
import type { Provider } from '../core/provider.ts';
import { addressOf } from '../provider/adapters.ts';
import { FORMATS } from '../wire/formats.ts';
import type { Lane } from '../wire/lane.ts';
import { Attempt, type AttemptOrder } from './attempt.ts';
import type { Exchange } from './exchange.ts';
import { forwardedHeaders } from './forwarded.ts';

export function* attempts(exchange: Exchange): Generator<Attempt> {
  const { arrival, plan, catalog, policy } = exchange;
  const candidates = plan.targets.filter(({ format }) => format === arrival.endpoint.format);
  for (const target of candidates.slice(0, policy.routing.maxAttempts)) {
    const provider = catalog.providers.get(target.provider);
    if (!provider) continue;
    const attempt = new Attempt({
      ...upstreamCall(exchange, target, provider),
      stream: exchange.facts.stream,
      client: exchange.client,
      recorder: exchange.recorder,
      keepAlive: FORMATS[arrival.endpoint.format].keepAlive,
      streams: policy.streams,
      secrets: provider.apiKeys,
    });
    exchange.begin(attempt, provider.name);
    yield attempt;
  }
}

function upstreamCall(exchange: Exchange, target: Target, provider: Provider): Pick<AttemptOrder, 'call' | 'lane'> {
  const { arrival, request, plan } = exchange;
  const lane: Lane = FORMATS[arrival.endpoint.format].passthrough({
    ...request,
    publicModel: plan.model.id,
    outputLimitField: provider.chatLimitField,
  });
  const [apiKey = null] = provider.apiKeys;
  const address = addressOf(provider, target.format, target.upstreamModel, apiKey, forwardedHeaders(arrival.headers));
  const body = lane.requestBody({ upstreamModel: target.upstreamModel, outputLimit: exchange.outputLimit });
  return { lane, call: { ...address, body, timeouts: provider.timeouts } };
}
