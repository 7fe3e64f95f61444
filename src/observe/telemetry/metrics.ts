/** Metrics by the GenAI semantic conventions. Only models of the catalog become an attribute, so their number is bounded. */
import type { Counter, Histogram, Meter } from '@opentelemetry/api';
import { creditsFromNanos } from '../../core/money.ts';
import type { RequestRecord } from '../../core/request-record.ts';
import { inputTokens } from '../../core/usage.ts';
import { given, providerAttributes } from './attributes.ts';
import { GENERATION, operationOf } from './operation.ts';

/** As the conventions advise, in seconds. */
const DURATION = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const FIRST_TOKEN = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const PER_TOKEN = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const TOKENS = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864];

export class RequestMetrics {
  readonly #duration: Histogram;
  readonly #firstToken: Histogram;
  readonly #perToken: Histogram;
  readonly #call: Histogram;
  readonly #tokens: Histogram;
  readonly #cost: Counter;
  readonly #providerCost: Counter;

  constructor(meter: Meter) {
    const histogram = (name: string, unit: string, bounds: number[]): Histogram =>
      meter.createHistogram(name, { unit, advice: { explicitBucketBoundaries: bounds } });
    this.#duration = histogram('gen_ai.server.request.duration', 's', DURATION);
    this.#firstToken = histogram('gen_ai.server.time_to_first_token', 's', FIRST_TOKEN);
    this.#perToken = histogram('gen_ai.server.time_per_output_token', 's', PER_TOKEN);
    this.#call = histogram('gen_ai.client.operation.duration', 's', DURATION);
    this.#tokens = histogram('gen_ai.client.token.usage', '{token}', TOKENS);
    this.#cost = meter.createCounter('gateway.cost', { unit: '{credit}' });
    this.#providerCost = meter.createCounter('gateway.provider_cost', { unit: '{credit}' });
  }

  finished(record: RequestRecord): void {
    const operation = operationOf(record);
    if (operation === null) return;
    const { receivedAt, firstContentAt, lastByteAt, usage, attempts } = record;
    for (const attempt of attempts) {
      if (attempt.startedAt === null) continue;
      const attributes = given({
        'gen_ai.operation.name': operation,
        ...providerAttributes(attempt.provider),
        'gen_ai.request.model': attempt.upstreamModel,
        'error.type': attempt.condition ?? undefined,
      });
      this.#call.record(seconds(attempt.startedAt, attempt.endedAt), attributes);
    }
    if (operation !== GENERATION) return;
    const common = given({
      'gen_ai.operation.name': operation,
      ...providerAttributes(attempts.at(-1)?.provider),
      'gen_ai.request.model': record.model ?? undefined,
    });
    const failure = record.condition ?? record.stopped ?? undefined;
    this.#duration.record(seconds(receivedAt, record.endedAt), given({ ...common, 'error.type': failure }));
    if (firstContentAt !== null) {
      this.#firstToken.record(seconds(receivedAt, firstContentAt), common);
      const further = (usage?.tokens.output ?? 0) - 1;
      if (lastByteAt !== null && further > 0)
        this.#perToken.record(seconds(firstContentAt, lastByteAt) / further, common);
    }
    if (usage !== null) {
      this.#tokens.record(inputTokens(usage.tokens), { ...common, 'gen_ai.token.type': 'input' });
      this.#tokens.record(usage.tokens.output, { ...common, 'gen_ai.token.type': 'output' });
    }
    if (record.costNanos !== null) this.#cost.add(creditsFromNanos(record.costNanos), common);
    if (record.providerCostNanos !== null) this.#providerCost.add(creditsFromNanos(record.providerCostNanos), common);
  }
}

function seconds(from: number, to: number | null): number {
  return to === null ? 0 : Math.max(0, to - from) / 1_000;
}
