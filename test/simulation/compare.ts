/** Whether a store said and did what the model says. */
import { isDeepStrictEqual } from 'node:util';
import type { Operation, Result } from '../../src/ledger/operations.ts';
import type { AccountSummary, AuditReport, KeySummary } from '../../src/ledger/port.ts';
import type { Model } from './model.ts';
import { accountSummary } from './model-accounts.ts';
import { show } from './show.ts';

const ORPHAN_GRACE_MS = 60_000;
const RETRY_MS_MIN = 1_000;

/** The first difference between what the store answered and what the model says; null when there is none. */
export function differentOutcome(
  batch: readonly Operation[],
  actual: readonly Result[],
  expected: readonly Result[],
): string | null {
  if (actual.length !== batch.length) return `${batch.length} operations have ${actual.length} results`;
  for (const [index, operation] of batch.entries()) {
    if (['recover', 'prune', 'rollUp'].includes(operation.op)) continue;
    const found = actual[index] as Result;
    const wanted = expected[index] as Result;
    if (isWaitTooShort(found)) return `${operation.op}: a wait under a second: ${show(found)}`;
    if (!isDeepStrictEqual(comparable(found), comparable(wanted))) {
      return `${show(operation)}\n    answered ${show(found)}\n    must be  ${show(wanted)}`;
    }
  }
  return differentTotals(batch, actual, expected);
}

/** Which holds a bounded recovery takes first is open; all of its steps together are not. */
function differentTotals(
  batch: readonly Operation[],
  actual: readonly Result[],
  expected: readonly Result[],
): string | null {
  const totals = (results: readonly Result[]) => {
    let [charged, voided] = [0, 0];
    for (const [index, operation] of batch.entries()) {
      const result = results[index];
      if (operation.op !== 'recover' || !result || !('voided' in result)) continue;
      charged += result.charged;
      voided += result.voided;
    }
    return { charged, voided };
  };
  const [found, wanted] = [totals(actual), totals(expected)];
  return isDeepStrictEqual(found, wanted) ? null : `recovery ended ${show(found)}, must be ${show(wanted)}`;
}

/** Texts and estimates are the store's own business. */
function comparable(result: Result): unknown {
  if (result === null) return null;
  // The newest charge is compared with all that it may be, after every step.
  if ('lastCost' in result) return { ...result, lastCost: 0n };
  if (!('kind' in result)) return result;
  switch (result.kind) {
    case 'operation_failed':
    case 'refused':
      return result.kind;
    case 'temporarily_held':
      return { ...result, retryAfterMs: 0 };
    case 'replay':
      return { ...result, reply: { ...result.reply, body: [...result.reply.body] } };
    default:
      return result;
  }
}

function isWaitTooShort(result: Result): boolean {
  if (result === null || !('kind' in result) || result.kind !== 'temporarily_held') return false;
  return 'retryAfterMs' in result && result.retryAfterMs < RETRY_MS_MIN;
}

/** The sums as the store shows them now, against the model and against the laws that hold whatever happened. */
export function brokenSums(model: Model, keys: readonly KeySummary[]): string | null {
  if (keys.length !== model.keys.size) return `${keys.length} keys are listed, must be ${model.keys.size}`;
  for (const summary of keys) {
    const key = model.keys.get(summary.key.id);
    if (key === undefined) return `key ${summary.key.id} is listed and does not exist`;
    const law = brokenLaw(summary);
    if (law !== null) return `key ${summary.key.id}: ${law}: ${show(summary)}`;
    const newest = summary.key.mode === 'credit' ? model.newestCharges(key) : [0n];
    if (!newest.includes(summary.lastCost)) return `key ${summary.key.id}: the newest charge is ${show(newest)}`;
    const wanted = { ...model.summary(key), lastCost: summary.lastCost };
    if (!isDeepStrictEqual(summary, wanted)) {
      return `key ${summary.key.id}\n    shows   ${show(summary)}\n    must be ${show(wanted)}`;
    }
  }
  return null;
}

/** The sums of every account, against the model and against the caps and balances that hold whatever happened. */
export function brokenLevels(model: Model, accounts: readonly AccountSummary[]): string | null {
  if (accounts.length !== model.accounts.size) return `${accounts.length} accounts, must be ${model.accounts.size}`;
  for (const summary of accounts) {
    const { account, purchased, used, reserved, reservedTokens, liveHolds } = summary;
    const known = model.accounts.get(account.id);
    if (known === undefined) return `account ${account.id} is listed and does not exist`;
    if (account.parentId === null && purchased - used - reserved < 0n) return `account ${account.id} is overspent`;
    if (liveHolds === 0 && (reserved !== 0n || reservedTokens !== 0n))
      return `account ${account.id} reserves for nobody`;
    const wanted = accountSummary(model, known);
    if (!isDeepStrictEqual(summary, wanted)) {
      return `account ${account.id}\n    shows   ${show(summary)}\n    must be ${show(wanted)}`;
    }
  }
  return null;
}

/** What the audit finds and counts, against the model. */
export function brokenAudit(model: Model, audit: AuditReport): string | null {
  const orphans = model.live().filter(({ hold }) => hold.expiresAtMs <= model.nowMs - ORPHAN_GRACE_MS).length;
  const findings = audit.findings.filter((line) => !line.includes('hold is past its expiry'));
  if (findings.length > 0) return `the audit finds: ${findings.join('; ')}`;
  // The audit names a bounded number of each kind.
  if (audit.findings.length !== Math.min(orphans, 20)) return `the audit must find ${orphans} orphans: ${show(audit)}`;
  const wanted = model.apply({ op: 'audit' }) as AuditReport;
  for (const field of ['keys', 'entries', 'liveHolds', 'flagged'] as const) {
    if (audit[field] !== wanted[field]) return `the audit counts ${audit[field]} ${field}, must be ${wanted[field]}`;
  }
  return null;
}

/** Conservation: what was bought is used, held or available, and nothing is ever negative. */
function brokenLaw(summary: KeySummary): string | null {
  const { purchased, used, reserved, liveHolds, periodUsed } = summary;
  if (used < 0n || reserved < 0n || periodUsed < 0n) return 'a negative sum';
  if (liveHolds === 0 && reserved !== 0n) return 'something is reserved without a hold';
  if (summary.key.mode === 'credit' && purchased - used - reserved < 0n) return 'more is used and held than bought';
  return null;
}
