/**
 * What an operator can do, as plain JSON in and out. It has two implementations: the service on an opened store,
 * and the client of a running gateway. Inputs and results have the shapes of the schemas in schema/; the service
 * validates the inputs.
 */
import type { AccountList as AccountListSchema, Account as AccountSchema } from './schema/accounts.ts';
import type {
  AccountWebhook as AccountWebhookSchema,
  AlertDeliveryList as AlertDeliveryListSchema,
  AlertDelivery as AlertDeliverySchema,
  AlertList as AlertListSchema,
  Alert as AlertSchema,
  AlertTest as AlertTestSchema,
} from './schema/alerts.ts';
import type { Audit as AuditSchema, LastAudit as LastAuditSchema } from './schema/audit.ts';
import type {
  AuditTrailEntry as AuditTrailEntrySchema,
  AuditTrailPage as AuditTrailPageSchema,
} from './schema/audit-trail.ts';
import type {
  BudgetKey as BudgetKeySchema,
  CreatedKey as CreatedKeySchema,
  CreditKey as CreditKeySchema,
  ImportedKeys as ImportedKeysSchema,
  KeyList as KeyListSchema,
  Key as KeySchema,
} from './schema/keys.ts';
import type {
  ModelListsRefresh as ModelListsRefreshSchema,
  ModelLists as ModelListsSchema,
} from './schema/model-lists.ts';
import type {
  CorrectionView as CorrectionSchema,
  PromotionList as PromotionListSchema,
  RefundView as RefundSchema,
} from './schema/money.ts';
import type {
  IssuedToken as IssuedTokenSchema,
  OperatorList as OperatorListSchema,
  Operator as OperatorSchema,
  SignInLink as SignInLinkSchema,
} from './schema/operators.ts';
import type { RequestContent as RequestContentSchema } from './schema/requests.ts';
import type {
  DoctorReport as DoctorReportSchema,
  ModelState as ModelStateSchema,
  ProviderState as ProviderStateSchema,
  TargetState as TargetStateSchema,
  TargetTest as TargetTestSchema,
} from './schema/state.ts';
import type { Statement as StatementSchema } from './schema/statement.ts';
import type { UsageReport as UsageReportSchema } from './schema/usage.ts';
import type { View } from './schema/view.ts';

export interface AdminApi {
  readonly accounts: AccountsApi;
  readonly money: MoneyApi;
  createKey(input: object): Promise<CreatedKey>;
  /** All of them or none. */
  importKeys(input: object): Promise<ImportedKeysView>;
  /** Newest first; those that fit `filters`, as the query of the list has them. */
  listKeys(filters?: object): Promise<readonly KeyView[]>;
  showKey(keyId: string): Promise<KeyView>;
  /** With `version`, only where that is still the version of the key. */
  changeKey(keyId: string, input: object, version?: number): Promise<KeyView>;
  /** Rotation: adds a secret to the key. The older ones keep working until they are revoked. */
  addSecret(keyId: string): Promise<CreatedKey>;
  revokeSecret(keyId: string, prefix: string): Promise<KeyView>;
  addCredit(keyId: string, input: object): Promise<KeyView>;
  /** What was captured of a request. */
  requestContent(requestId: string): Promise<RequestContentView>;
  audit(): Promise<AuditView>;
  /** What came of the last one. */
  lastAudit(): Promise<LastAuditView>;
  /** Of what was charged: requests, tokens, cost and times, in groups. */
  usage(input: object): Promise<UsageView>;
  /** What providers said of their models when they were asked last. */
  modelLists(): Promise<ModelListsView>;
  /** Asks them again. */
  refreshModelLists(): Promise<ModelListsRefreshView>;
  readonly operators: OperatorsApi;
  readonly alerts: AlertsApi;
  /** Newest first. */
  auditTrail(query: object): Promise<AuditTrailPageView>;
}

export interface OperatorsApi {
  list(): Promise<readonly ListedOperatorView[]>;
  show(id: string): Promise<OperatorView>;
  /** With a first token. */
  create(input: object): Promise<IssuedTokenView>;
  change(id: string, input: object): Promise<OperatorView>;
  /** Ends its tokens and sessions too. */
  revoke(id: string): Promise<OperatorView>;
  addToken(id: string, input: object): Promise<IssuedTokenView>;
  revokeToken(id: string, tokenId: string): Promise<OperatorView>;
  /** A link that signs in at the console, once. */
  link(id: string): Promise<SignInLinkView>;
}

export interface AlertsApi {
  /** Newest first. */
  list(query: object): Promise<AlertPageView>;
  /** Newest first. */
  deliveries(query: object): Promise<AlertDeliveryPageView>;
  /** To everybody that the configuration names. */
  test(): Promise<AlertTestView>;
  webhook(accountId: string): Promise<AccountWebhookView>;
  /** With a new secret, shown once. */
  setWebhook(accountId: string, input: object): Promise<AccountWebhookView>;
  removeWebhook(accountId: string): Promise<AccountWebhookView>;
}

/** Accounts in a tree, and the keys that belong to them. */
export interface AccountsApi {
  create(input: object): Promise<AccountView>;
  /** In the order of their creation; without filters, all of them. */
  list(filters?: object): Promise<readonly AccountView[]>;
  show(accountId: string): Promise<AccountView>;
  /** With `version`, only where that is still the version of the account. */
  change(accountId: string, input: object, version?: number): Promise<AccountView>;
  move(accountId: string, input: object): Promise<AccountView>;
  addCredit(accountId: string, input: object): Promise<AccountView>;
  addKey(accountId: string, input: object): Promise<AccountView>;
}

/** Money beside charges and purchases, of whoever pays: a root, or a key without an account. */
export interface MoneyApi {
  refund(requestId: string, input: object): Promise<RefundView>;
  correct(payerId: string, input: object): Promise<CorrectionView>;
  /** What is left of promotional credit, in the order in which it expires. */
  promotions(id: string): Promise<PromotionListView>;
  /** Of an account, or of a key. */
  statement(id: string, query: object): Promise<StatementView>;
}

/** The operations of the running gateway where one answers, otherwise of the store itself. */
export interface AdminConnection {
  readonly api: AdminApi;
  close(): Promise<void>;
}

export type CreditKeyView = View<typeof CreditKeySchema>;
export type BudgetKeyView = View<typeof BudgetKeySchema>;
export type KeyView = View<typeof KeySchema>;
export type KeyPageView = View<typeof KeyListSchema>;
/** The only shape that holds a key's text: it is shown once, here, and stored nowhere. */
export type CreatedKey = View<typeof CreatedKeySchema>;
export type ImportedKeysView = View<typeof ImportedKeysSchema>;
export type RequestContentView = View<typeof RequestContentSchema>;
export type AccountView = View<typeof AccountSchema>;
export type AccountPageView = View<typeof AccountListSchema>;
export type RefundView = View<typeof RefundSchema>;
export type StatementView = View<typeof StatementSchema>;
export type PromotionListView = View<typeof PromotionListSchema>;
export type CorrectionView = View<typeof CorrectionSchema>;
export type AuditView = View<typeof AuditSchema>;
export type LastAuditView = View<typeof LastAuditSchema>;
export type UsageView = View<typeof UsageReportSchema>;
export type UsageRowView = UsageView['data'][number];
export type UsageFiguresView = UsageView['total'];
export type ModelListsView = View<typeof ModelListsSchema>;
export type ModelListsRefreshView = View<typeof ModelListsRefreshSchema>;

export type OperatorView = View<typeof OperatorSchema>;
export type ListedOperatorView = View<typeof OperatorListSchema>['data'][number];
export type IssuedTokenView = View<typeof IssuedTokenSchema>;
export type SignInLinkView = View<typeof SignInLinkSchema>;
export type AuditTrailEntryView = View<typeof AuditTrailEntrySchema>;
export type AuditTrailPageView = View<typeof AuditTrailPageSchema>;

export type AlertView = View<typeof AlertSchema>;
export type AlertPageView = View<typeof AlertListSchema>;
export type AlertDeliveryView = View<typeof AlertDeliverySchema>;
export type AlertDeliveryPageView = View<typeof AlertDeliveryListSchema>;
export type AlertTestView = View<typeof AlertTestSchema>;
export type AccountWebhookView = View<typeof AccountWebhookSchema>;

export type ModelStateView = View<typeof ModelStateSchema>;
export type ProviderStateView = View<typeof ProviderStateSchema>;
export type TargetStateView = View<typeof TargetStateSchema>;
export type TargetTestView = View<typeof TargetTestSchema>;
export type DoctorReportView = View<typeof DoctorReportSchema>;

export type AdminErrorCode =
  | 'invalid_input'
  | 'unknown_key'
  | 'unknown_operator'
  | 'unknown_account'
  | 'refused'
  | 'precondition_failed'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'too_large'
  | 'rate_limited'
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
