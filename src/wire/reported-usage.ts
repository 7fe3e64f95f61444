/**
 * A provider's report of the tokens of one answer, with the other terms of its price, and whether it is possible. An
 * impossible report is not charged by: the tokens are counted here instead, and the client sees what was counted. One per
 * answer.
 */
import { inputTokens, type TokenCounts, totalTokens } from '../core/usage.ts';
import type { Meter } from './lane.ts';
import { TermsReport } from './reported-terms.ts';

type ReportMembers = Pick<Meter, 'reported' | 'reportedFinal' | 'disbelieved'>;

export class ReportedUsage {
  readonly terms = new TermsReport();
  readonly #tokensMax: () => number;
  #members: ReportMembers = { reported: null, reportedFinal: false };
  #seen = 0;

  /** `tokensMax`: the most tokens that the request can take; hosted tools may add to it. */
  constructor(tokensMax: (() => number) | undefined) {
    this.#tokensMax = tokensMax ?? (() => Number.POSITIVE_INFINITY);
  }

  /** `tokens`: null where the report holds figures that are none. `final`: of a report of the whole answer. `seen`: of its output so far. */
  take(tokens: TokenCounts | null, final: boolean, seen: number): void {
    this.#seen = seen;
    if (tokens === null) {
      this.#members = { reported: null, reportedFinal: false, disbelieved: 'figures that are not counts' };
      return;
    }
    const why = final ? this.#impossible(tokens, seen) : undefined;
    if (why === undefined) this.#members = { reported: tokens, reportedFinal: final };
    else this.#members = { reported: why.input ? tokens : null, reportedFinal: false, disbelieved: why.reason };
  }

  /** `input`: that part can still be. */
  #impossible(tokens: TokenCounts, seen: number): Impossible | undefined {
    if (inputTokens(tokens) === 0) return { reason: 'no input tokens', input: false };
    if (tokens.output === 0 && seen > 0) return { reason: 'no output tokens beside content', input: true };
    if (this.terms.anyCalls || totalTokens(tokens) <= this.#tokensMax()) return undefined;
    return { reason: `${totalTokens(tokens)} tokens, more than the request can take`, input: false };
  }

  get disbelieved(): boolean {
    return this.#members.disbelieved !== undefined;
  }

  /** A report that output came after was not of the whole answer. */
  meter(outputBytes: number, seen = outputBytes): Meter {
    const reportedFinal = this.#members.reportedFinal && seen <= this.#seen;
    return { ...this.#members, reportedFinal, outputBytes, ...this.terms.member() };
  }
}

interface Impossible {
  readonly reason: string;
  readonly input: boolean;
}
