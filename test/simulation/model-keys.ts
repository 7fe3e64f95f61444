/** The operator's side of the model: keys, their secrets and their credit. */
import { isDeepStrictEqual } from 'node:util';
import { RUNS_LIMIT } from '../../src/core/key.ts';
import type { OperationOf, Result } from '../../src/ledger/operations.ts';
import type { KeyChangeOutcome } from '../../src/ledger/port.ts';
import type { Model } from './model.ts';
import { inheritedFrom } from './model-accounts.ts';
import { bought } from './model-money.ts';
import { FAILED, type ModelKey, NO_LIMITS } from './model-parts.ts';

const REFUSED = { kind: 'refused', reason: '' } as const;

export function createKey(model: Model, { request }: OperationOf<'createKey'>): Result {
  const known = model.keys.get(request.id);
  if (known !== undefined) return model.holderOf(request.secret.digest) === known ? known.record : FAILED;
  const { credit, secret, accountId = null, cap = null, captureDays = null, ...rest } = request;
  const account = accountId === null ? undefined : model.accounts.get(accountId);
  if (model.accounts.has(request.id) || (accountId !== null && (account?.record.status ?? 'closed') === 'closed')) {
    return FAILED;
  }
  if (accountId !== null && request.mode === 'credit' && credit !== 0n) return FAILED;
  if (cap !== null && (accountId === null || request.mode !== 'credit')) return FAILED;
  const inherited = inheritedFrom(model, accountId);
  const limits = { ...NO_LIMITS, runsLimit: RUNS_LIMIT, ...rest };
  const key: ModelKey = {
    record: {
      ...limits,
      accountId,
      cap,
      captureDays,
      inherited,
      version: 1,
      status: 'active',
      createdAtMs: model.nowMs,
      prefix: secret.prefix,
    },
    secrets: [secret],
    purchases: new Map(request.mode === 'credit' && credit > 0n ? [['gateway:first', credit]] : []),
    booked: new Map(),
    promotions: [],
    expired: 0n,
    charges: [],
    holds: new Map(),
    claims: new Map(),
    places: [],
    counted: [],
  };
  model.keys.set(request.id, key);
  return key.record;
}

export function changeKey(model: Model, { keyId, change: given }: OperationOf<'changeKey'>): KeyChangeOutcome {
  const key = model.keys.get(keyId);
  if (key === undefined) return { kind: 'unknown_key' };
  const { ifVersion = key.record.version, ...change } = given;
  if (ifVersion !== key.record.version) return { kind: 'other_version', version: key.record.version };
  const next = { ...key.record, ...change };
  const fields = Object.keys(change) as (keyof typeof change)[];
  if (fields.every((field) => isDeepStrictEqual(key.record[field], next[field])))
    return { kind: 'changed', key: key.record };
  if (key.record.status === 'revoked') return REFUSED;
  if (next.budget !== null && key.record.mode === 'credit') return REFUSED;
  if (next.cap !== null && (key.record.mode !== 'credit' || key.record.accountId === null)) return REFUSED;
  if ([next.rpmLimit, next.tpmLimit, next.parallelLimit, next.outputLimit].some((limit) => limit !== null && limit < 1))
    return REFUSED;
  key.record = { ...next, version: key.record.version + 1 };
  return { kind: 'changed', key: key.record };
}

export function addSecret(model: Model, { keyId, digest, prefix }: OperationOf<'addSecret'>): KeyChangeOutcome {
  const key = model.keys.get(keyId);
  if (key === undefined) return { kind: 'unknown_key' };
  const holder = model.holderOf(digest);
  if (holder === key) return { kind: 'changed', key: key.record };
  if (holder !== undefined || key.record.status === 'revoked') return REFUSED;
  key.secrets.push({ digest, prefix });
  key.record = { ...key.record, version: key.record.version + 1, prefix };
  return { kind: 'changed', key: key.record };
}

export function revokeSecret(model: Model, { keyId, prefix }: OperationOf<'revokeSecret'>): KeyChangeOutcome {
  const key = model.keys.get(keyId);
  if (key === undefined) return { kind: 'unknown_key' };
  const rest = key.secrets.filter((secret) => secret.prefix !== prefix);
  const newest = rest.at(-1);
  if (newest === undefined) return REFUSED;
  if (rest.length === key.secrets.length) return { kind: 'changed', key: key.record };
  key.secrets = rest;
  key.record = { ...key.record, version: key.record.version + 1, prefix: newest.prefix };
  return { kind: 'changed', key: key.record };
}

export function addCredit(model: Model, operation: OperationOf<'addCredit'>): Result {
  const { keyId } = operation;
  const key = model.keys.get(keyId);
  if (key === undefined) return { kind: 'unknown_key' };
  if (key.record.mode !== 'credit') return REFUSED;
  const mayBuy = key.record.accountId === null && key.record.status !== 'revoked';
  if (!bought(model, key, operation.entryId, operation, mayBuy)) return REFUSED;
  const balance = key.record.accountId === null ? model.means(key) : 0n;
  return { kind: 'added', key: key.record, balance };
}
