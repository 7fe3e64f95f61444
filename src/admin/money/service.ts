/** Refunds and corrections on an opened store. */

import type { Clock } from '../../core/clock.ts';
import { AMOUNT_MAX, creditsFromNanos, decimalCredits, parseCredits } from '../../core/money.ts';
import type { StatementPolicy } from '../../core/policy.ts';
import type { KeySummary, LedgerAdmin, Statement } from '../../ledger/port.ts';
import { AdminError } from '../error.ts';
import { unexpected } from '../http/validate.ts';
import type { View } from '../http/view.ts';
import { newId } from '../ids.ts';
import type { CorrectionView, PromotionList, RefundView } from './schema.ts';
import { CorrectionBody, RefundBody } from './schema.ts';
import { readStatementTime, statementView } from './statement.ts';
import type { StatementQuery, StatementView } from './statement-schema.ts';

interface MoneyServiceOptions {
  readonly ledger: LedgerAdmin;
  readonly clock: Clock;
  readonly actorId: string | null;
  /** What stands on statements beside the figures. */
  statements(): Promise<StatementPolicy> | null;
}

export class MoneyService {
  readonly #ledger: LedgerAdmin;
  readonly #options: MoneyServiceOptions;

  constructor(options: MoneyServiceOptions) {
    this.#ledger = options.ledger;
    this.#options = options;
  }

  async refund(requestId: string, body: View<typeof RefundBody>): Promise<RefundView> {
    const amountNanos = body.amount == null ? null : creditsIn(String(body.amount));
    if (body.amount != null && (amountNanos === null || amountNanos <= 0n)) {
      throw unexpected(RefundBody, 'amount', body.amount);
    }
    const found = await this.#ledger.findCharge(requestId);
    if (found === null) throw unknownRequest(requestId);
    const entryId = body.entry_id?.toWellFormed() ?? newId('refund');
    const outcome = await this.#ledger.refund({
      keyId: found.keyId,
      chargeId: found.chargeId,
      entryId,
      amountNanos,
      note: body.reason.toWellFormed(),
      actor: this.#options.actorId,
    });
    if (outcome.kind === 'unknown_charge') throw unknownRequest(requestId);
    if (outcome.kind === 'refused') throw new AdminError('refused', outcome.reason);
    return {
      object: 'refund',
      entry_id: entryId,
      request_id: requestId,
      key: found.keyId,
      payer: outcome.payerId,
      amount: creditsFromNanos(outcome.amount),
      refunded: creditsFromNanos(outcome.refunded),
      charged: creditsFromNanos(outcome.charged),
      balance: creditsFromNanos(outcome.balance),
    };
  }

  /** What the ledger has of a request that is in no log; null where that is nothing. */
  async chargeWithoutRecord(requestId: string): Promise<string | null> {
    const charge = /^req_[0-9a-f]{1,40}$/.test(requestId) ? await this.#ledger.findCharge(requestId) : null;
    const key = charge && (await this.#ledger.getKey(charge.keyId))?.key;
    if (!charge || !key) return null;
    const { keyId, charged, atMs, recovered } = charge;
    const amount = key.mode === 'credit' ? `${decimalCredits(charged)} credits` : `${charged} tokens`;
    const why = recovered
      ? 'its gateway died while it ran, and it was charged by what had last been noted of it'
      : 'its record was lost with its gateway, or has left the log (request_log.keep_days, request_log.max_bytes)';
    return `no request ${requestId} is in the log, but the ledger has its charge: ${amount} of key ${keyId}, booked ${new Date(atMs).toISOString()}; ${why}`;
  }

  async requirePayer(id: string): Promise<void> {
    if (((await this.#ledger.getAccount(id)) ?? (await this.#ledger.getKey(id))) === null) throw unknownPayer(id);
  }

  async promotions(id: string): Promise<View<typeof PromotionList>> {
    const open = await this.#ledger.promotions(id);
    if (open === null) throw unknownPayer(id);
    return {
      object: 'list',
      data: open.map(({ id: entryId, amount, left, expiresAtMs }) => ({
        id: entryId,
        amount: creditsFromNanos(amount),
        left: creditsFromNanos(left),
        expires_at: new Date(expiresAtMs).toISOString(),
      })),
    };
  }

  async statement(id: string, query: View<typeof StatementQuery>): Promise<StatementView> {
    const time = readStatementTime(query, this.#options.clock.nowMs());
    const outcome = await this.#ledger.statement(id, time.sinceMs, time.untilMs);
    if (outcome.kind === 'unknown_payer') throw unknownPayer(id);
    if (outcome.kind === 'refused') throw new AdminError('refused', outcome.reason);
    const keys = await this.#keysOf(id, outcome.of);
    const accounts = outcome.of === 'key' ? [] : await this.#ledger.listAccounts({ within: id });
    const names = {
      keys: new Map(keys.map(({ key }) => [key.id, key])),
      accounts: new Map(accounts.map(({ account }) => [account.id, account.name])),
    };
    return statementView(id, time, outcome, { names, policy: await this.#options.statements() });
  }

  /** Those that have left since are not among them. */
  async #keysOf(id: string, of: Statement['of']): Promise<readonly KeySummary[]> {
    if (of !== 'key') return this.#ledger.listKeys({ accountId: id, below: true });
    const key = await this.#ledger.getKey(id);
    return key === null ? [] : [key];
  }

  async correct(payerId: string, body: View<typeof CorrectionBody>): Promise<CorrectionView> {
    const amountNanos = creditsIn(String(body.amount));
    if (amountNanos === null || amountNanos === 0n) throw unexpected(CorrectionBody, 'amount', body.amount);
    const entryId = body.entry_id?.toWellFormed() ?? newId('correction');
    const note = body.reason.toWellFormed();
    const request = { payerId, entryId, amountNanos, note, actor: this.#options.actorId };
    const outcome = await this.#ledger.correct(request);
    if (outcome.kind === 'unknown_payer') throw unknownPayer(payerId);
    if (outcome.kind === 'refused') throw new AdminError('refused', outcome.reason);
    return {
      object: 'correction',
      entry_id: entryId,
      payer: payerId,
      amount: creditsFromNanos(amountNanos),
      balance: creditsFromNanos(outcome.balance),
    };
  }
}

function unknownPayer(id: string): AdminError {
  return new AdminError(
    'not_found',
    `${JSON.stringify(id)} is neither a key nor an account: list them with "gateway keys list" and "gateway accounts list"`,
  );
}

/** With a sign; null where it is not an amount that the ledger can hold. */
function creditsIn(text: string): bigint | null {
  const [, minus, digits = ''] = /^(-?)(.*)$/s.exec(text) ?? [];
  try {
    const nanos = parseCredits(digits);
    if (nanos > AMOUNT_MAX) return null;
    return minus === '' ? nanos : -nanos;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function unknownRequest(requestId: string): AdminError {
  return new AdminError(
    'not_found',
    `nothing was charged for a request ${JSON.stringify(requestId.slice(0, 80))}: give the x-request-id of its answer`,
  );
}
