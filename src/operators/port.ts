/**
 * Who may do what on the operator's side, and what was done: operators, their credentials, the audit trail and the claims
 * of `Idempotency-Key`s. Two engines keep them, so that all gateways on one database agree.
 */

/**
 * `owner`: everything. `operator`: keys, credit and requests. `viewer`: reads. `account-admin`: one account and what is
 * below it, by the routes that name this role.
 */
export const ROLES = ['owner', 'operator', 'viewer', 'account-admin'] as const;
export type Role = (typeof ROLES)[number];

export interface Operator {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** The top of the subtree of an `account-admin`; null for the other roles. */
  readonly accountId: string | null;
  readonly createdAtMs: number;
  /** Null while the operator may sign in. */
  readonly revokedAtMs: number | null;
}

/** The operator that the admin secret, the Unix socket and the first sign-in link act as. It cannot be revoked. */
export const BUILT_IN_OWNER = 'owner';

/** `sign_in` can be exchanged for a session once. */
export type CredentialKind = 'token' | 'sign_in' | 'session';

/** What is stored of a secret; its text exists only where it was made and where it is used. */
export interface Credential {
  readonly id: string;
  readonly kind: CredentialKind;
  readonly operatorId: string;
  readonly digest: string;
  readonly label: string | null;
  /** Of a session: the id of the token that it was made with, which it does not outlive. */
  readonly madeWith: string | null;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  /** Revoked, signed out or exchanged. */
  readonly endedAtMs: number | null;
}

export interface FoundCredential {
  readonly credential: Credential;
  readonly operator: Operator;
}

/** Which credentials of an operator are meant: all of the kind, or the one with this id. */
export interface CredentialFilter {
  readonly operatorId: string;
  readonly kinds: readonly CredentialKind[];
  readonly id?: string;
}

/** What an operator has set a field of a key or an account to. */
export interface OperatorSetting {
  /** The id of the key or of the account. */
  readonly subject: string;
  readonly field: string;
  /** JSON. */
  readonly value: string;
}

/** Somebody whom an OpenID Connect provider vouches for, with the role that it gives. */
export interface OutsideIdentity {
  readonly issuer: string;
  readonly subject: string;
  readonly name: string;
  readonly role: Role;
}

/** How a caller has proved who it is. `process`: the gateway itself, at its start. `command`: a command without a gateway. */
export type ActorVia = 'token' | 'session' | 'secret' | 'socket' | 'command' | 'process';

export interface Actor {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly accountId: string | null;
  readonly via: ActorVia;
}

/** Where a request came from. */
interface Provenance {
  readonly address: string | null;
  readonly userAgent: string | null;
  readonly requestId: string | null;
}

/** `actor` is null where nobody has proved who it is. */
export interface Caller {
  readonly actor: Actor | null;
  readonly from: Provenance;
}

/** `unknown`: the store failed, and what came of it has to be looked up. */
export type AuditOutcome = 'done' | 'refused' | 'unknown';

/** `before` and `after` are JSON of the resource, without any secret; null where there is none. */
export interface AuditRecord extends Caller {
  readonly action: string;
  readonly target: string | null;
  readonly outcome: AuditOutcome;
  /** Why it was refused. */
  readonly reason: string | null;
  readonly before: string | null;
  readonly after: string | null;
  readonly atMs: number;
}

export interface AuditTrailEntry extends AuditRecord {
  readonly number: number;
}

export interface AuditTrailQuery {
  readonly limit: number;
  /** Only entries with a smaller number. */
  readonly before?: number | undefined;
  /** Only entries with a greater number. */
  readonly after?: number | undefined;
  readonly actorId?: string | undefined;
  readonly action?: string | undefined;
  readonly target?: string | undefined;
  readonly outcome?: AuditOutcome | undefined;
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
}

/** The claim of an `Idempotency-Key`. `name` is a digest; `reply` is encrypted. */
export interface ReplyClaim {
  readonly name: string;
  readonly fingerprint: string;
  readonly atMs: number;
}

/** `running` is also what a process that died meanwhile leaves behind. */
export type ClaimOutcome =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'running' }
  | { readonly kind: 'other_request' }
  | { readonly kind: 'replay'; readonly reply: string };
