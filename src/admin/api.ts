/**
 * What an operator can do, as plain JSON in and out. It has two implementations: the service on an opened store,
 * and the client of a running gateway. Inputs have the shape of the operation's
 * schema in schema.ts, and are validated by the service.
 */
import type { KeyStatus, Mode } from '../core/key.ts';
import type { Period } from '../core/period.ts';

export interface AdminApi {
  createKey(input: object): Promise<CreatedKey>;
  /** Newest first. */
  listKeys(): Promise<readonly KeyView[]>;
  showKey(keyId: string): Promise<KeyView>;
  changeKey(keyId: string, input: object): Promise<KeyView>;
  /** Rotation: adds a secret to the key. The older ones keep working until they are revoked. */
  addSecret(keyId: string): Promise<CreatedKey>;
  revokeSecret(keyId: string, prefix: string): Promise<KeyView>;
  addCredit(keyId: string, input: object): Promise<KeyView>;
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

/** The operations of the running gateway where one answers, otherwise of the store itself. */
export interface AdminConnection {
  readonly api: AdminApi;
  close(): Promise<void>;
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

/** Its message is one sentence for the operator: what is wrong, and what is expected. */
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
