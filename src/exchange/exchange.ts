/** One admitted request: everything that its attempts share, and the single end of its hold. */
import { GatewayError } from '../core/conditions.ts';
import type { Mode } from '../core/key.ts';
import type { Policy } from '../core/policy.ts';
import type { Catalog } from '../core/provider.ts';
import type { AttemptRecord, RequestRecord, RunningRequest, StopReason } from '../core/request-record.ts';
import { type TokenCounts, totalTokens } from '../core/usage.ts';
import type {
  KeptResponse,
  Mark,
  MarkedCall,
  SettleOutcome,
  SettleRequest,
  StoredReply,
  UsageRecord,
} from '../ledger/port.ts';
import { sumOf } from '../wire/encoded-output.ts';
import type { RequestInfo } from '../wire/format.ts';
import { FORMATS } from '../wire/formats.ts';
import { change } from '../wire/json/edit.ts';
import type { Meter, Seen } from '../wire/lane.ts';
import type { Admission } from './admission.ts';
import type { Admitted } from './admit.ts';
import type { Attempt } from './attempt.ts';
import { BackgroundRun } from './background-run.ts';
import { carriedOutput, ElasticHold } from './elastic-hold.ts';
import type { Gateway } from './gateway.ts';
import type { InFlightExchange } from './in-flight.ts';
import { type FinishedAnswer, finishAnswer } from './keep-response.ts';
import { type Charge, chargeFor, usageOf } from './meter.ts';
import type { Plan } from './plan.ts';
import { holdFor } from './price.ts';
import { ReplyRecorder } from './reply-recorder.ts';
import type { GenerationRequest } from './request.ts';
import type { ResponseSink } from './response-sink.ts';
import { HIDDEN_OUTPUT, UnreportedOutput } from './unreported-output.ts';

const LOST = {
  message:
    'The gateway lost its hold on this request before the answer was complete. What was charged until then stands.',
} as const;

export class Exchange implements InFlightExchange {
  deadlineMs = Number.POSITIVE_INFINITY;
  readonly request: GenerationRequest;
  readonly plan: Plan;
  readonly response: ResponseSink;
  /** Null where a client waits for the answer. */
  readonly run: BackgroundRun | null;
  readonly recorder: ReplyRecorder | null;
  /** The configuration at the time of the admission: a reload changes nothing for the request. */
  readonly catalog: Catalog;
  readonly policy: Policy;
  /** The effective output limit of one choice. */
  readonly outputLimit: number;
  /** Null where the hold carries the worst case. */
  readonly elastic: ElasticHold | null;
  readonly #gateway: Gateway;
  readonly #admission: Admission;
  readonly #mode: Mode;
  /** Whether the key, or perhaps an account above it, limits tokens per minute. */
  readonly #limitsTokens: boolean;
  #attempt: Attempt | null = null;
  #stopped: StopReason | null = null;
  #wake: () => void = () => {};
  #provider = '';
  #markedOutput = -1;
  #firstByteMs: number | null = null;
  readonly #output: UnreportedOutput;
  /** The stream was ended from this side, as at its length limit. */
  #cutShort = false;
  /** The amount that a settlement asked for. */
  #charged = 0n;

  constructor(
    gateway: Gateway,
    config: { readonly catalog: Catalog; readonly policy: Policy },
    request: GenerationRequest,
    admitted: Admitted & { kind: 'admitted' },
    response: ResponseSink,
  ) {
    this.#gateway = gateway;
    this.#admission = admitted.admission;
    const { mode, tpmLimit, accountId } = admitted.caller.key;
    this.#mode = mode;
    this.#limitsTokens = tpmLimit !== null || accountId !== null;
    this.request = request;
    this.response = response;
    this.catalog = config.catalog;
    this.policy = config.policy;
    this.plan = admitted.plan;
    this.run = response instanceof BackgroundRun ? response : null;
    // A repeat of a run is answered with what is stored of it.
    this.recorder =
      this.run !== null || request.headers.get('idempotency-key') === null
        ? null
        : new ReplyRecorder(gateway.replyBudget, this.policy.limits);
    // A hold of all that was asked for carries all of the output, unless it is elastic.
    const carried =
      admitted.whole && !this.plan.elastic
        ? this.plan.outputLimit
        : carriedOutput(this.#mode, this.plan, this.#admission);
    // Less than was asked for is all that the balance has: such a hold cannot grow, and the output limit shrinks to it.
    const grows = this.plan.elastic && carried >= Math.min(this.plan.outputLimit, this.plan.firstOutputTokens);
    this.#output = new UnreportedOutput(gateway, this.keyId, this.plan, request.record);
    this.elastic = grows ? this.#elasticHold(carried) : null;
    this.outputLimit = grows ? this.plan.outputLimit : carried;
    response.onClose(() => this.#stop('client_gone'));
    this.run?.onStop((reason) => this.#stop(reason));
  }

  #elasticHold(carriedTokens: number): ElasticHold {
    return new ElasticHold({
      admission: this.#admission,
      mode: this.#mode,
      plan: this.plan,
      carriedTokens,
      waitMs: this.policy.streams.holdWaitMs,
      output: this.#output.visible,
      speed: () => this.plan.speed?.() ?? null,
    });
  }

  get keyId(): string {
    return this.#admission.keyId;
  }

  get record(): RequestRecord {
    return this.request.record;
  }

  get info(): RequestInfo {
    return this.plan.request.info;
  }

  /** The attempt that runs now. An exchange that was stopped meanwhile stops it before anything is sent. */
  begin(attempt: Attempt, record: AttemptRecord): void {
    this.#attempt = attempt;
    this.#provider = record.provider;
    if (this.#stopped) attempt.stop(this.#stopped);
    else this.record.attempts.push(record);
  }

  /** The first content of the answer is there. */
  answered(): void {
    this.#firstByteMs = this.#ageMs;
  }

  /** Between two attempts; over at once when the exchange is stopped. */
  async wait(ms: number): Promise<void> {
    if (this.#stopped) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  stop(reason: 'drain' | 'operator'): void {
    this.#stop(reason);
  }

  /** How long ago the request arrived, however the clock of the machine was set meanwhile. */
  get #ageMs(): number {
    return Math.floor(performance.now() - this.record.receivedAt);
  }

  /** How long it may take from now on. */
  leftMs(): number {
    return Math.max(0, this.plan.totalMs - this.#ageMs);
  }

  expire(): void {
    if (this.#admission.ended) this.#admission.late();
    else this.#stop('deadline');
  }

  #stop(reason: StopReason): void {
    this.#stopped ??= reason;
    this.#attempt?.stop(reason);
    this.#wake();
  }

  running(): RunningRequest {
    const { record } = this;
    return {
      id: record.requestId,
      key_id: this.keyId,
      key_label: record.keyLabel,
      mode: this.#mode,
      model: this.plan.model.id,
      provider: this.#provider,
      streamed: this.info.stream,
      attempts: record.attempts.length,
      age_ms: Math.round(performance.now() - record.receivedAt),
      held: String(this.#admission.held),
      output_bytes: this.#attempt?.progress()?.outputBytes ?? 0,
    };
  }

  progress(): Mark | null {
    this.elastic?.tick();
    const meter = this.#attempt?.progress() ?? null;
    const seen = (meter?.outputBytes ?? 0) + sumOf(meter?.encoded);
    if (!meter || (seen === this.#markedOutput && !this.plan.hides)) return null;
    this.#markedOutput = seen;
    const charge = this.#charge(meter, false);
    return {
      holdId: this.#admission.holdId,
      keyId: this.#admission.keyId,
      charge: charge.amount,
      tokens: charge.usage.tokens,
      call: this.#markedCall(charge),
    };
  }

  /** The usage of a complete answer where nobody has reported it: its client sees what it is charged for. */
  async countUnreported(meter: Seen): Promise<TokenCounts | null> {
    // An answer that was cut short shows its usage already.
    if (meter.reportedFinal || this.#cutShort) return null;
    await this.#output.end(meter);
    return usageOf(this.plan, meter, this.#output.tokens(meter)).tokens;
  }

  /** The last bytes of a complete answer, and what is to be stored of it. `counted`: what a whole answer shows as usage. */
  finish(last: Buffer, counted: TokenCounts | null): FinishedAnswer {
    const said = counted === null || this.info.stream ? last : this.#withUsage(last, counted);
    const bytes = this.run?.named(said) ?? said;
    const { state } = this.plan.request;
    if (state === undefined) return { bytes, kept: null };
    return finishAnswer(state, { bytes, streamed: this.info.stream, provider: this.#provider }, this.policy.responses);
  }

  #withUsage(body: Buffer, tokens: TokenCounts): Buffer {
    const usage = FORMATS[this.request.endpoint.format].writeTokens(tokens);
    return change(body, [{ path: ['usage'], json: JSON.stringify(usage) }]);
  }

  /** `contentType` is that of a complete answer; null where there is none to be replayed. */
  settle(
    meter: Seen | null,
    outcome: UsageRecord['outcome'],
    contentType: string | null,
    kept: KeptResponse | null = null,
  ): Promise<SettleOutcome> {
    if (outcome === 'complete' || !meter) return this.#settle(meter, outcome, contentType, kept);
    return this.#output.end(meter).then(() => this.#settle(meter, outcome, contentType, kept));
  }

  #settle(
    meter: Seen | null,
    outcome: UsageRecord['outcome'],
    contentType: string | null,
    kept: KeptResponse | null,
  ): Promise<SettleOutcome> {
    const complete = outcome === 'complete' && !this.#cutShort;
    if (complete && meter && this.info.stream) this.#output.noteSpeed(meter);
    let charge = this.#charge(meter, complete);
    const reply = contentType === null ? null : this.#storedReply(contentType);
    this.#boundCommit();
    const counted = this.#admission.heldTokens !== null;
    // Cancelled by the client, the time limit, a drain or an operator.
    const recorded = outcome !== 'cancelled' || this.run !== null;
    const settlement = (): SettleRequest => {
      if (this.elastic) charge = this.#charge(meter, complete);
      this.#charged = charge.amount;
      this.#noteCharge(charge);
      return {
        holdId: this.#admission.holdId,
        keyId: this.#admission.keyId,
        charge: charge.amount,
        ...(counted ? { chargeTokens: BigInt(totalTokens(charge.usage.tokens)) } : {}),
        usage: recorded ? this.#usageRecord(charge, outcome) : null,
        ...(!recorded && this.#limitsTokens ? { outputTokens: charge.usage.tokens.output } : {}),
        call: recorded ? null : this.#markedCall(charge),
        reply,
        noReplyReason: contentType === null ? 'charged_incomplete' : 'reply_not_stored',
        flag: charge.flag,
        kept,
        run: this.run?.ending ?? null,
      };
    };
    const owed = {
      amount: this.#worthHolding(this.#mode, charge.owed),
      tokens: counted ? this.#worthHolding('token_budget', BigInt(totalTokens(charge.usage.tokens))) : 0n,
    };
    return this.#admission.settle(owed, settlement);
  }

  /** The usage of a stream that has to be cut, for its client and its charge. */
  async cutShort(meter: Seen): Promise<TokenCounts> {
    this.#cutShort = true;
    await this.#output.end(meter);
    const { tokens } = usageOf(this.plan, meter, this.#output.tokens(meter));
    // Output beyond the hold was not sent, and is not charged.
    const output = Math.min(tokens.output, this.elastic?.carriedTokens ?? tokens.output);
    return { ...tokens, output };
  }

  /**
   * Throws where a complete answer was not charged as such: this process was frozen past its lease, and another one has
   * ended the hold by its last mark.
   */
  checkCharged(settled: SettleOutcome): void {
    // A settlement whose acknowledgement was lost finds its own charge.
    if (settled.kind === 'settled' || (settled.kind === 'already_settled' && settled.charged === this.#charged)) return;
    throw new GatewayError('service_unavailable', LOST);
  }

  /** Calls the listener, at most one, when the end of the hold is durable; at once when it is already. */
  whenOver(listener: () => void): void {
    this.#admission.whenOver(listener);
  }

  /** Whether its hold was settled or voided; that may not be durable yet. */
  get ended(): boolean {
    return this.#admission.ended;
  }

  void(): Promise<void> {
    this.record.settlement = 'void';
    this.#boundCommit();
    return this.#admission.void(this.run?.ending ?? null);
  }

  /** After the last byte, or after whatever went wrong: nothing of the exchange stays behind. */
  release(): void {
    this.recorder?.release();
  }

  #noteCharge(charge: Charge): void {
    const { record } = this;
    record.settlement = 'charge';
    record.charged = charge.amount;
    record.owed = charge.owed;
    record.usage = charge.usage;
    record.costNanos = charge.costNanos;
    record.providerCostNanos = charge.providerCostNanos;
    record.pricing = this.plan.model.pricing;
    record.flag = charge.flag;
  }

  /** After everything else: what the hold came to. */
  noteEnd(): void {
    this.record.held = this.#admission.held;
    this.record.settledAt = this.#admission.overAt;
  }

  /** Its own time is over: what is still waited for is the commit. */
  #boundCommit(): void {
    this.#gateway.inFlight.setDeadline(this, this.policy.limits.settleWaitMs);
  }

  #charge(meter: Meter | null, complete: boolean): Charge {
    const { held } = this.#admission;
    const unreported = meter === null || meter.reportedFinal ? null : this.#output.tokens(meter);
    const charge = chargeFor(this.#mode, this.plan, held, meter, unreported, complete, this.#provider);
    if (charge.usage.source === 'reported' || this.#output.hidden === 0) return charge;
    return { ...charge, flag: [charge.flag, HIDDEN_OUTPUT].filter(Boolean).join('; ') };
  }

  /** A stream may have outrun its elastic hold by a burst: what it owes is held before it is charged, up to its worst case. */
  #worthHolding(mode: Mode, owed: bigint): bigint {
    if (!this.elastic) return 0n;
    const worst = holdFor(mode, this.plan, this.plan.outputLimit);
    return owed < worst ? owed : worst;
  }

  #storedReply(contentType: string): StoredReply | null {
    const body = this.recorder?.body() ?? null;
    return body && { status: 200, contentType, body };
  }

  #usageRecord(charge: Charge, outcome: UsageRecord['outcome']): UsageRecord {
    return {
      ...this.#markedCall(charge),
      outcome,
      source: charge.usage.source,
      tokens: charge.usage.tokens,
      durationMs: this.#ageMs,
    };
  }

  #markedCall(charge: Charge): MarkedCall {
    return {
      requestId: this.request.requestId,
      model: this.plan.model.id,
      provider: this.#provider,
      format: this.request.endpoint.format,
      streamed: this.info.stream,
      costNanos: charge.costNanos,
      providerCostNanos: charge.providerCostNanos,
      attempts: this.record.attempts.length,
      firstByteMs: this.#firstByteMs,
    };
  }
}
