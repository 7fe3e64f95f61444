/** Audits of the ledger: on request, and regularly by one of the gateways that share it. What came of the last one is kept there. */
import type { Log } from '../core/log.ts';
import type { AuditReport, LedgerAdmin } from './port.ts';

/** What came of an audit, for those who were not there. */
export interface LastAudit extends Omit<AuditReport, 'findings' | 'flaggedCharges'> {
  /** When it ended. */
  readonly atMs: number;
  /** The first ones. */
  readonly findings: readonly string[];
  readonly findingCount: number;
}

interface AuditsOptions {
  readonly ledger: Pick<LedgerAdmin, 'audit' | 'getDocument' | 'putDocument'>;
  readonly alerts: {
    auditFailed(report: AuditReport): Promise<void>;
    /** Whether this one of the gateways on the store is the one that watches. */
    watches(): Promise<boolean>;
  };
  /** Null: only on request. */
  readonly everyMs: () => number | null;
  readonly log: Log;
  nowMs(): number;
}

interface AuditState {
  /** When the last one began; it may still be running. */
  readonly startedAtMs: number;
  /** How many were begun since one came to an end. */
  readonly unended: number;
  readonly last: LastAudit | null;
}

const DOCUMENT = 'last-audit';
/** A start has other things to do than to read the whole ledger, and one that fails is soon followed by the next. */
const FIRST_LOOK_MS = 600_000;
const LOOK_MS = 60_000;
/**
 * An audit that began so long ago and has no result ended with its process, or failed. The next ones wait twice as long each
 * time: where the ledger is too large for the time that a report may take, it must not be read all the time.
 */
const GIVEN_UP_MS = 900_000;
const FINDINGS_KEPT = 20;

export class Audits {
  readonly #options: AuditsOptions;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;
  #state: AuditState | null = null;

  constructor(options: AuditsOptions) {
    this.#options = options;
  }

  /** The last audit that this gateway knows of, of its own or of another one on the same store. */
  get last(): LastAudit | null {
    return this.#state?.last ?? null;
  }

  get everyMs(): number | null {
    return this.#options.everyMs();
  }

  /** Audits regularly until it is closed. */
  start(): void {
    // What is known already is in the metrics from the start on; a store that does not answer is asked again.
    this.read().catch(() => {});
    this.#lookIn(FIRST_LOOK_MS);
  }

  /** An audit that is under way changes nothing and is not waited for; the next gateway makes up for it. */
  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #lookIn(ms: number): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      this.look()
        .catch((err: unknown) => {
          if (!this.#closed) this.#options.log.error({ err }, 'the audit failed; it will be tried again');
        })
        .finally(() => this.#lookIn(LOOK_MS));
    }, ms).unref();
  }

  /** Takes over what another gateway has stored, and audits where it is time and no other gateway does. */
  async look(): Promise<void> {
    await this.read();
    if (!this.#isDue() || !(await this.#options.alerts.watches())) return;
    // Another gateway may have begun before this one was the one that watches.
    await this.read();
    if (!this.#isDue()) return;
    const startedAtMs = this.#options.nowMs();
    await this.#write({ startedAtMs, unended: (this.#state?.unended ?? 0) + 1, last: this.last });
    await this.run(startedAtMs);
  }

  async read(): Promise<LastAudit | null> {
    const stored = await this.#options.ledger.getDocument(DOCUMENT);
    this.#state = stored === null ? null : decoded(stored.value);
    return this.last;
  }

  /** Now. What came of it is logged, stored, and an alert where something does not add up. */
  async run(startedAtMs = this.#options.nowMs()): Promise<AuditReport> {
    const { ledger, alerts, log, nowMs } = this.#options;
    const report = await ledger.audit();
    const { findings, flaggedCharges: _, ...figures } = report;
    const last = {
      ...figures,
      findings: findings.slice(0, FINDINGS_KEPT),
      findingCount: findings.length,
      atMs: nowMs(),
    };
    const tookMs = last.atMs - startedAtMs;
    if (report.ok) log.info({ keys: report.keys, entries: report.entries, tookMs }, 'the audit found nothing wrong');
    else log.error({ findings: last.findings, count: findings.length }, 'the audit found sums that do not add up');
    // A disk that is full does not keep anybody from knowing.
    await this.#write({ startedAtMs, unended: 0, last }).catch((err: unknown) => {
      log.error({ err }, 'the result of the audit could not be stored');
    });
    if (!report.ok) await alerts.auditFailed(report);
    return report;
  }

  #isDue(): boolean {
    const { everyMs, nowMs } = this.#options;
    const every = everyMs();
    if (every === null) return false;
    if (this.#state === null) return true;
    const { startedAtMs, unended } = this.#state;
    const sinceMs = nowMs() - startedAtMs;
    // A clock that was ahead must not put the next one off.
    return sinceMs < 0 || sinceMs >= (unended === 0 ? every : Math.min(every, GIVEN_UP_MS * 2 ** (unended - 1)));
  }

  async #write(state: AuditState): Promise<void> {
    this.#state = state;
    await this.#options.ledger.putDocument(DOCUMENT, JSON.stringify(state));
  }
}

/** Null where another release has written something else: the next audit says how things are. */
function decoded(text: string): AuditState | null {
  const value = JSON.parse(text) as Partial<AuditState> | null;
  if (typeof value?.startedAtMs !== 'number' || typeof value.unended !== 'number') return null;
  const { startedAtMs, unended, last } = value;
  return { startedAtMs, unended, last: typeof last?.atMs === 'number' && Array.isArray(last.findings) ? last : null };
}
