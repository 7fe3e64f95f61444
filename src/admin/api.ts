/**
 * What an operator can do, as plain JSON in and out. Two things implement it: the service on an opened store, and the
 * client that asks a running gateway; whoever uses it cannot tell which.
 */
import type { KeyStatus, Mode } from '../core/key.ts';
import type { Period } from '../core/period.ts';

export interface AdminApi {
  createKey(input: NewKeyInput): Promise<CreatedKey>;
  /** Newest first. */
  listKeys(): Promise<readonly KeyView[]>;
  showKey(keyId: string): Promise<KeyView>;
  changeKey(keyId: string, input: KeyChangeInput): Promise<KeyView>;
  /** Rotation: a further secret for the key. The older ones go on working until they are revoked. */
  addSecret(keyId: string): Promise<CreatedKey>;
  revokeSecret(keyId: string, prefix: string): Promise<KeyView>;
  addCredit(keyId: string, input: CreditInput): Promise<KeyView>;
  audit(): Promise<AuditView>;
  /** What providers said of their models when they were asked last. */
  modelLists(): Promise<ModelListsView>;
  /** Asks them again. */
  refreshModelLists(): Promise<ModelListsRefreshView>;
}

export interface ModelListsView {
  readonly object: 'model_lists';
  /** The document in the store, as its text; null where nobody was asked yet. */
  readonly document: string | null;
}

export interface ModelListsRefreshView {
  readonly asked: readonly { readonly provider: string; readonly models: number }[];
  readonly failed: readonly { readonly provider: string; readonly reason: string }[];
}

export interface NewKeyInput {
  readonly mode?: string | undefined;
  /** Decimal credits. A string is read exactly; a number by its shortest decimal form. */
  readonly credit?: string | number | undefined;
  /** Tokens per period; null or `unlimited` for a key without a bound. */
  readonly budget?: number | string | null | undefined;
  readonly period?: string | undefined;
  readonly rpm_limit?: number | string | null | undefined;
  /** A provider's name, or `all`. */
  readonly provider_scope?: string | undefined;
  /** Null for every model of the scope. */
  readonly models?: readonly string[] | null | undefined;
  readonly label?: string | null | undefined;
  /** ISO 8601; without a zone it is UTC. */
  readonly expires_at?: string | null | undefined;
}

export interface KeyChangeInput extends Omit<NewKeyInput, 'mode' | 'credit'> {
  readonly status?: string | undefined;
}

export interface CreditInput {
  readonly amount: string | number;
  readonly note?: string | null | undefined;
  /** Names the purchase: sent again with the same id, it is booked once. */
  readonly entry_id?: string | undefined;
}

interface KeyViewBase {
  readonly id: string;
  readonly prefix: string;
  readonly prefixes: readonly string[];
  /** For clients of Format A. */
  readonly base_url: string;
  /** For clients of Format B, which append `/v1/messages` themselves. */
  readonly origin: string;
  readonly label: string | null;
  readonly status: KeyStatus;
  readonly provider_scope: string;
  readonly models: readonly string[] | null;
  readonly rpm_limit: number | null;
  readonly expires_at: string | null;
  readonly created_at: string;
  readonly used: number;
  readonly reserved: number;
  readonly live_holds: number;
  readonly requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
}

export interface CreditKeyView extends KeyViewBase {
  readonly mode: Extract<Mode, 'credit'>;
  /** Everything bought so far. */
  readonly credit: number;
  readonly balance: number;
  readonly remaining: number;
  readonly today_spend: number;
}

export interface BudgetKeyView extends KeyViewBase {
  readonly mode: Extract<Mode, 'token_budget'>;
  readonly budget: number | null;
  readonly period: Period;
  readonly period_ends_at: string | null;
  readonly remaining: number | null;
}

export type KeyView = CreditKeyView | BudgetKeyView;

/** The only shape that holds a key's text: it is shown once, here, and stored nowhere. */
export type CreatedKey = KeyView & { readonly key: string };

export interface AuditView {
  readonly ok: boolean;
  readonly keys: number;
  readonly entries: number;
  readonly live_holds: number;
  readonly flagged: number;
  readonly findings: readonly string[];
}

export type AdminErrorCode =
  | 'invalid_input'
  | 'unknown_key'
  | 'refused'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'too_large'
  | 'unavailable'
  | 'internal';

/** Its message is one sentence for the operator: what is wrong, and what is allowed. */
export class AdminError extends Error {
  readonly code: AdminErrorCode;
  /** The input field that the message begins with, where there is one. */
  readonly field: string | null;

  constructor(code: AdminErrorCode, message: string, details: { field?: string | null; cause?: unknown } = {}) {
    super(message, { cause: details.cause });
    this.name = 'AdminError';
    this.code = code;
    this.field = details.field ?? null;
  }
}
