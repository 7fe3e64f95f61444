/** The output of an exchange that nobody has reported: what could be seen by its text, what could not by its time. */
import type { RequestRecord } from '../core/request-record.ts';
import { OutputCount } from '../counting/output-count.ts';
import { mayBeHidden } from '../routing/output-speeds.ts';
import { sumOf } from '../wire/encoded-output.ts';
import type { Meter, Seen } from '../wire/lane.ts';
import { ELASTIC_SLICE_TOKENS } from './elastic-hold.ts';
import type { Gateway } from './gateway.ts';
import type { Plan } from './plan.ts';

/** The flag of a charge for such output, for the operator. */
export const HIDDEN_OUTPUT = 'output that was not shown is estimated by its time';

export class UnreportedOutput {
  readonly visible: OutputCount;
  readonly #gateway: Gateway;
  readonly #plan: Plan;
  readonly #record: RequestRecord;
  /** When the answer had ended, by `performance.now()`; null while it goes on. */
  #endedAt: number | null = null;

  constructor(gateway: Gateway, keyId: string, plan: Plan, record: RequestRecord) {
    this.visible = new OutputCount(gateway.counter, keyId, plan.targets);
    this.#gateway = gateway;
    this.#plan = plan;
    this.#record = record;
  }

  /** The answer has ended, and the provider is no longer involved. Its text is counted, off the loop. */
  async end({ reportedFinal, sample }: Seen): Promise<void> {
    this.#endedAt ??= performance.now();
    if (!reportedFinal && sample) await this.visible.count(sample);
  }

  tokens({ outputBytes, encoded }: Meter): number {
    const visible = this.visible.likely(outputBytes) + sumOf(encoded);
    return visible + Math.max(0, Math.min(this.hidden, this.#plan.outputLimit - visible));
  }

  /** The estimate by the time that the target has worked since it accepted the call. */
  get hidden(): number {
    const attempt = this.#record.attempts.at(-1);
    if (!this.#plan.hides || attempt === undefined || attempt.firstByteAt === null) return 0;
    const speed = this.#gateway.routing.speeds.hidden(attempt) ?? assumedSpeed(this.#plan);
    return Math.floor((speed * ((this.#endedAt ?? performance.now()) - attempt.firstByteAt)) / 1_000);
  }

  /** A complete stream shows how fast its target is. */
  noteSpeed({ reported, reportedFinal, outputBytes, encoded, sample }: Seen): void {
    const attempt = this.#record.attempts.at(-1);
    if (!reportedFinal || reported === null || attempt === undefined) return;
    const now = performance.now();
    let visibleTokens = this.visible.likely(outputBytes) + sumOf(encoded);
    // Scripts differ in how many bytes a token has: what looks hidden by the length may be all there.
    if (sample && mayBeHidden(reported.output, visibleTokens))
      visibleTokens = this.visible.likelyBy(sample, outputBytes) + sumOf(encoded);
    this.#gateway.routing.speeds.note(attempt, {
      outputTokens: reported.output,
      visibleTokens,
      firstTokens: ELASTIC_SLICE_TOKENS,
      sinceAcceptedMs: now - (this.#record.admittedAt ?? now),
      sinceHeadersMs: now - (attempt.firstByteAt ?? now),
    });
  }
}

/** The speed that is assumed before streams of the target have shown it: others are slower than the operator's figure. */
function assumedSpeed({ model, request }: Plan): number {
  return request.info.reasoning === 'on' ? (model.outputSpeed ?? 0) / 2 : 0;
}
