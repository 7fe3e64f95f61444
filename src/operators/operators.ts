/**
 * Operators, their tokens, sign-in links and sessions, and the audit trail: the one object that everybody goes through.
 * Outcomes are values; an exception means that the store failed.
 */
import { createHmac, hash, randomBytes } from 'node:crypto';
import type { Clock } from '../core/clock.ts';
import { DAY_MS, HOUR_MS } from '../core/time.ts';
import {
  type Actor,
  type ActorVia,
  type AuditRecord,
  type AuditTrailEntry,
  type AuditTrailQuery,
  BUILT_IN_OWNER,
  type ClaimOutcome,
  type Credential,
  type CredentialKind,
  type Operator,
  type OperatorSetting,
  type OutsideIdentity,
  type Role,
} from './port.ts';
import { newSecret, sameText, seal, secretDigest, unseal } from './secrets.ts';
import type { SqlOperatorStore } from './sql-store.ts';

const SIGN_IN_MS = 15 * 60_000;
export const SESSION_MS = 12 * HOUR_MS;
const REPLY_KEEP_MS = DAY_MS;
/** So long after their end, tokens are still listed. */
const ENDED_KEEP_MS = 30 * DAY_MS;
const PRUNE_INTERVAL_MS = HOUR_MS;

interface OperatorsOptions {
  readonly store: SqlOperatorStore;
  readonly installationSecret: string;
  readonly clock: Clock;
}

interface Session {
  readonly actor: Actor;
  readonly expiresAtMs: number;
}

/** The only shape that holds the text of a secret. */
export interface IssuedSecret {
  readonly text: string;
  readonly credential: Credential;
}

interface NewOperator {
  readonly name: string;
  readonly role: Role;
  readonly accountId: string | null;
}

interface StoredReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

type ReplayOutcome =
  | Exclude<ClaimOutcome, { kind: 'replay' }>
  | { readonly kind: 'replay'; readonly reply: StoredReply };

export class Operators {
  readonly #options: OperatorsOptions;
  readonly #store: SqlOperatorStore;
  #prunedAtMs = 0;
  #unauthenticated = 0;

  constructor(options: OperatorsOptions) {
    this.#options = options;
    this.#store = options.store;
  }

  /** Whose token this is; null where it is nobody's, has expired or was revoked. */
  async authenticate(token: string): Promise<Actor | null> {
    return (await this.#live('token', token))?.actor ?? null;
  }

  /** Null where the session has ended. */
  session(text: string): Promise<Session | null> {
    return this.#live('session', text);
  }

  /** Exchanges a sign-in token, which is then used up, or an operator token for a session. Null where it is neither. */
  async signIn(token: string): Promise<(Session & { readonly text: string }) | null> {
    const found = (await this.#live('sign_in', token)) ?? (await this.#live('token', token));
    if (found === null) return null;
    const { id: operatorId } = found.actor;
    if (found.credential.kind === 'sign_in') {
      const filter = { operatorId, kinds: ['sign_in'], id: found.credential.id } as const;
      // Of two who come with the same link at once, one is let in.
      if ((await this.#store.endCredentials(filter, this.#nowMs())) !== 1) return null;
    }
    const madeWith = found.credential.kind === 'token' ? found.credential.id : null;
    const forMs = madeWith === null ? SESSION_MS : Math.min(SESSION_MS, found.expiresAtMs - this.#nowMs());
    const { text, credential } = await this.#issue('session', operatorId, forMs, { madeWith });
    return { text, actor: { ...found.actor, via: 'session' }, expiresAtMs: credential.expiresAtMs };
  }

  /**
   * A session for whom an OpenID Connect provider vouches for: the same operator each time, with the role of this time. Null
   * where the operator was revoked here.
   */
  async signInFromOutside(identity: OutsideIdentity): Promise<(Session & { readonly text: string }) | null> {
    const id = `op_${hash('sha256', `${identity.issuer}\n${identity.subject}`, 'hex').slice(0, 20)}`;
    const { role } = identity;
    const known = await this.#store.operator(id);
    if (known !== null && known.revokedAtMs !== null) return null;
    if (known === null) await this.#createOutside(id, identity);
    else if (known.role !== role) await this.#store.changeRole(id, role, null);
    const operator = await this.#store.operator(id);
    if (operator === null) throw new TypeError(`operator ${id} is gone`);
    const { text, credential } = await this.#issue('session', id, SESSION_MS);
    return { text, actor: actorOf(operator, 'session'), expiresAtMs: credential.expiresAtMs };
  }

  /** A name that another operator has is told apart by the id. */
  async #createOutside(id: string, { name, role }: OutsideIdentity): Promise<void> {
    const operator = { id, name, role, accountId: null, createdAtMs: this.#nowMs(), revokedAtMs: null };
    if (await this.#store.createOperator(operator)) return;
    // Of two sign-ins at once, one has made it already.
    if ((await this.#store.operator(id)) !== null) return;
    await this.#store.createOperator({ ...operator, name: `${name} (${id})` });
  }

  async signOut(text: string): Promise<void> {
    const found = await this.#live('session', text);
    if (found === null) return;
    const { id, operatorId } = found.credential;
    await this.#store.endCredentials({ operatorId, kinds: ['session'], id }, this.#nowMs());
  }

  /** Ends all sessions of the operator and its unused sign-in links; how many there were. */
  signOutEverywhere(operatorId: string): Promise<number> {
    return this.#store.endCredentials({ operatorId, kinds: ['session', 'sign_in'] }, this.#nowMs());
  }

  list(): Promise<readonly Operator[]> {
    return this.#store.operators();
  }

  find(id: string): Promise<Operator | null> {
    return this.#store.operator(id);
  }

  /** Null where an operator has this name. */
  async create(given: NewOperator): Promise<Operator | null> {
    const operator: Operator = { ...given, id: newId('op'), createdAtMs: this.#nowMs(), revokedAtMs: null };
    return (await this.#store.createOperator(operator)) ? operator : null;
  }

  async changeRole(id: string, role: Role, accountId: string | null): Promise<void> {
    await this.#store.changeRole(id, role, accountId);
  }

  async revoke(id: string): Promise<void> {
    await this.#store.revokeOperator(id, this.#nowMs());
  }

  /** Revokes it. It is called by this name then, and its tokens by none. */
  async erase(id: string, name: string): Promise<void> {
    await this.revoke(id);
    await this.#store.rename(id, name);
  }

  /** Those that can still be used, or could until recently. */
  async tokens(operatorId: string): Promise<readonly Credential[]> {
    const all = await this.#store.credentials(operatorId);
    return all.filter(({ kind }) => kind === 'token');
  }

  issueToken(operatorId: string, expiresAtMs: number, label: string | null): Promise<IssuedSecret> {
    return this.#issue('token', operatorId, expiresAtMs - this.#nowMs(), { label });
  }

  issueSignIn(operatorId: string = BUILT_IN_OWNER): Promise<IssuedSecret> {
    return this.#issue('sign_in', operatorId, SIGN_IN_MS);
  }

  /** Whether there was such a token, not yet revoked. Sessions that were made with it end with it. */
  async revokeToken(operatorId: string, tokenId: string): Promise<boolean> {
    const filter = { operatorId, kinds: ['token'], id: tokenId } as const;
    return (await this.#store.endCredentials(filter, this.#nowMs())) === 1;
  }

  async noteSettings(settings: readonly OperatorSetting[]): Promise<void> {
    await this.#store.noteSettings(settings);
  }

  settingsOf(subject: string): Promise<readonly OperatorSetting[]> {
    return this.#store.settingsOf(subject);
  }

  /** Changes that were asked for by nobody who is known, since the start. */
  get unauthenticated(): number {
    return this.#unauthenticated;
  }

  noteUnauthenticated(): void {
    this.#unauthenticated += 1;
  }

  async record(record: Omit<AuditRecord, 'atMs'>): Promise<void> {
    await this.#store.append({ ...record, atMs: this.#nowMs() });
  }

  auditTrail(query: AuditTrailQuery): Promise<readonly AuditTrailEntry[]> {
    return this.#store.auditTrail(query);
  }

  /** Claims an `Idempotency-Key` of this operator for a request; `fingerprint` says which request it is. */
  async claim(operatorId: string, key: string, fingerprint: string): Promise<ReplayOutcome> {
    const name = this.#claimName(operatorId, key);
    const nowMs = this.#nowMs();
    await this.#prune(nowMs);
    const outcome = await this.#store.claim({ name, fingerprint, atMs: nowMs });
    if (outcome.kind !== 'replay') return outcome;
    const text = unseal(this.#options.installationSecret, `${operatorId}:${key}`, outcome.reply);
    return { kind: 'replay', reply: JSON.parse(text) as StoredReply };
  }

  /** What a repeat of the request will get. */
  async keepReply(operatorId: string, key: string, reply: StoredReply): Promise<void> {
    const sealed = seal(this.#options.installationSecret, `${operatorId}:${key}`, JSON.stringify(reply));
    await this.#store.keepReply(this.#claimName(operatorId, key), sealed);
  }

  async close(): Promise<void> {
    await this.#store.close();
  }

  async #live(kind: CredentialKind, text: string): Promise<(Session & { readonly credential: Credential }) | null> {
    const digest = secretDigest(this.#options.installationSecret, kind, text);
    if (digest === null) return null;
    const found = await this.#store.findCredential(kind, digest);
    if (found === null || !sameText(found.credential.digest, digest)) return null;
    const { credential, operator } = found;
    if (credential.endedAtMs !== null || credential.expiresAtMs <= this.#nowMs()) return null;
    if (operator.revokedAtMs !== null) return null;
    return {
      credential,
      actor: actorOf(operator, kind === 'session' ? 'session' : 'token'),
      expiresAtMs: credential.expiresAtMs,
    };
  }

  async #issue(
    kind: CredentialKind,
    operatorId: string,
    forMs: number,
    { label = null, madeWith = null }: Partial<Pick<Credential, 'label' | 'madeWith'>> = {},
  ): Promise<IssuedSecret> {
    const text = newSecret(kind);
    const digest = secretDigest(this.#options.installationSecret, kind, text);
    if (digest === null) throw new TypeError(`a ${kind} secret that is none`);
    const nowMs = this.#nowMs();
    const credential: Credential = {
      id: newId(kind === 'token' ? 'tok' : 'ses'),
      kind,
      operatorId,
      digest,
      label,
      madeWith,
      createdAtMs: nowMs,
      expiresAtMs: nowMs + forMs,
      endedAtMs: null,
    };
    await this.#prune(nowMs);
    await this.#store.createCredential(credential);
    return { text, credential };
  }

  async #prune(nowMs: number): Promise<void> {
    if (nowMs - this.#prunedAtMs < PRUNE_INTERVAL_MS) return;
    this.#prunedAtMs = nowMs;
    await this.#store.pruneCredentials(nowMs - ENDED_KEEP_MS);
    await this.#store.pruneClaims(nowMs - REPLY_KEEP_MS);
  }

  #claimName(operatorId: string, key: string): string {
    const { installationSecret } = this.#options;
    return createHmac('sha256', installationSecret).update(`reply ${operatorId}:${key}`).digest('base64');
  }

  #nowMs(): number {
    return this.#options.clock.nowMs();
  }
}

function actorOf({ id, name, role, accountId }: Operator, via: ActorVia): Actor {
  return { id, name, role, accountId, via };
}

/** Who acts where the admin secret, the socket, a command or the gateway itself does. */
export function builtInOwner(via: ActorVia): Actor {
  return { id: BUILT_IN_OWNER, name: BUILT_IN_OWNER, role: 'owner', accountId: null, via };
}

function newId(kind: 'op' | 'tok' | 'ses'): string {
  return `${kind}_${randomBytes(10).toString('hex')}`;
}
