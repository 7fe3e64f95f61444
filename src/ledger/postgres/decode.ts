/** Outcomes as the functions of the database give them: amounts as text, accounts as rows. */
import { type Period, periodEndMs } from '../../core/period.ts';
import { integer, type Row } from '../../storage/columns.ts';
import type { Outcome, OwnerLost, Result } from '../operations.ts';
import {
  type AdmitOutcome,
  type ByLevel,
  type ExtendOutcome,
  NO_PERIOD_RETRY_MS,
  type RateState,
  type SettleOutcome,
  type VoidOutcome,
} from '../port.ts';
import { summaryOnPath } from '../rules/levels.ts';
import { keyFrom, nodeFrom, totalsFrom } from '../rules/row-mapping.ts';
import type { HotName } from './encode.ts';

/** An outcome before it is read: its kind says which of these are there. */
interface Raw {
  readonly kind: string;
  readonly message: string;
  readonly rate: RateState | null;
  readonly held: string;
  readonly heldTokens?: string;
  readonly level?: Required<ByLevel>['level'];
  readonly charged: string;
  readonly available: string;
  readonly retryAfterMs: number;
  readonly key: Row;
  readonly period: Period;
  readonly now: number;
  readonly at: number;
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export function decode(op: HotName, value: unknown, nowMs: number): Result {
  if (value === null) return null;
  const raw = value as Raw;
  if (raw.kind === 'operation_failed') return { kind: 'operation_failed', message: raw.message };
  switch (op) {
    case 'admit':
      return decodeAdmit(raw);
    case 'settle':
    case 'void':
      return decodeEnd(raw);
    case 'extend':
      return decodeExtend(raw);
    case 'findKey':
      return keyFrom(value as Row);
    case 'summary': {
      const row = value as Row;
      // There for a key of an account: the accounts above it, from the nearest to the root.
      const path = (row.path ?? []) as readonly Row[];
      const nodes = path.map((node) => nodeFrom(node));
      return summaryOnPath(totalsFrom(row), nodes, Math.max(nowMs, integer(row, 'seen_ms')));
    }
    case 'heartbeat':
      return { kind: raw.kind } as Outcome<'heartbeat'>;
    case 'mark':
    case 'ping':
    case 'registerOwner':
      return null;
  }
}

function decodeAdmit(raw: Raw): AdmitOutcome | OwnerLost {
  const { kind, rate } = raw;
  switch (kind) {
    case 'admitted':
      if (raw.heldTokens === undefined) return { kind, rate, held: BigInt(raw.held) };
      return { kind, rate, held: BigInt(raw.held), heldTokens: BigInt(raw.heldTokens) };
    case 'insufficient':
      return { kind, rate, available: BigInt(raw.available), ...levelOf(raw) };
    case 'key_changed':
      return { kind, key: keyFrom(raw.key) };
    case 'limit_reached': {
      const endMs = periodEndMs(raw.period, raw.at);
      return { kind, rate, retryAfterMs: endMs === null ? NO_PERIOD_RETRY_MS : endMs - raw.now, ...levelOf(raw) };
    }
    case 'replay': {
      const { status, contentType } = raw;
      return { kind, rate, reply: { status, contentType, body: Buffer.from(raw.body, 'base64') } };
    }
    default:
      // The others have the shape of their outcome already.
      return raw as unknown as AdmitOutcome | OwnerLost;
  }
}

/** Only of a key of an account. */
function levelOf({ level }: Raw): ByLevel {
  return level === undefined ? {} : { level };
}

function decodeEnd({ kind, charged }: Raw): SettleOutcome | VoidOutcome {
  if (kind === 'settled' || kind === 'already_settled') return { kind, charged: BigInt(charged) };
  return { kind: kind === 'voided' ? 'voided' : 'already_voided' };
}

function decodeExtend({ kind, held, heldTokens }: Raw): ExtendOutcome {
  if (kind !== 'extended') return { kind } as ExtendOutcome;
  return { kind, held: BigInt(held), ...(heldTokens === undefined ? {} : { heldTokens: BigInt(heldTokens) }) };
}
