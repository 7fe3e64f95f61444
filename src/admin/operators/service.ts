/** The operators' part of the admin API, on the store of operators. */

import type { Clock } from '../../core/clock.ts';
import { DAY_MS } from '../../core/time.ts';
import type { IssuedSecret, Operators } from '../../operators/operators.ts';
import type { AuditTrailEntry } from '../../operators/port.ts';
import { BUILT_IN_OWNER, type Credential, type Operator, type Role } from '../../operators/port.ts';
import { type ConsoleAddress, NO_CONSOLE } from '../console-address.ts';
import { AdminError } from '../error.ts';
import { numberedPage } from '../http/page.ts';
import { readTime } from '../http/time.ts';
import { invalid, type ObjectSchema, unexpected } from '../http/validate.ts';
import type { View } from '../http/view.ts';
import { type AuditTrailEntryView, type AuditTrailPage, AuditTrailQuery } from './audit-trail-schema.ts';
import type { IssuedTokenView, ListedOperatorView, OperatorView, SignInLinkView } from './schema.ts';
import { NewOperatorBody, NewTokenBody, type OperatorChangeBody } from './schema.ts';

interface OperatorServiceOptions {
  readonly operators: Operators;
  readonly clock: Clock;
  console(): ConsoleAddress;
  /** An account-admin is bound to an account that exists. */
  accountExists(id: string): Promise<boolean>;
}

const TOKEN_MS = 90 * DAY_MS;
const TOKEN_MS_MAX = 366 * DAY_MS;

export class OperatorService {
  readonly #options: OperatorServiceOptions;

  constructor(options: OperatorServiceOptions) {
    this.#options = options;
  }

  async list(): Promise<readonly ListedOperatorView[]> {
    return (await this.#options.operators.list()).map(listedView);
  }

  async show(id: string): Promise<OperatorView> {
    const operator = await this.#operator(id);
    const tokens = await this.#options.operators.tokens(id);
    const nowMs = this.#options.clock.nowMs();
    return { ...listedView(operator), tokens: tokens.map((token) => tokenView(token, nowMs)) };
  }

  /** With a first token. */
  async create({ name, role, account_id, expires_at }: View<typeof NewOperatorBody>): Promise<IssuedTokenView> {
    const { operators } = this.#options;
    const expiresAtMs = this.#expiry(NewOperatorBody, expires_at);
    const operator = await operators.create({ name, role, accountId: await this.#account(role, account_id) });
    if (operator === null) throw new AdminError('refused', `there is an operator ${JSON.stringify(name)} already`);
    return issuedView(operator, await operators.issueToken(operator.id, expiresAtMs, null));
  }

  async change(id: string, { role, account_id }: View<typeof OperatorChangeBody>): Promise<OperatorView> {
    await this.#changeable(id);
    await this.#options.operators.changeRole(id, role, await this.#account(role, account_id));
    return this.show(id);
  }

  /** Ends its tokens and sessions too. */
  async revoke(id: string): Promise<OperatorView> {
    await this.#changeable(id);
    await this.#options.operators.revoke(id);
    return this.show(id);
  }

  /** Whoever administers one of these accounts, or did until it was revoked: nobody can use it any more, or tell whose it was. */
  async eraseBoundTo(accountIds: readonly string[], name: string): Promise<void> {
    const { operators } = this.#options;
    for (const { id, accountId } of await operators.list()) {
      if (accountId !== null && accountIds.includes(accountId)) await operators.erase(id, name);
    }
  }

  async addToken(id: string, { expires_at, label }: View<typeof NewTokenBody>): Promise<IssuedTokenView> {
    const operator = await this.#active(id);
    const expiresAtMs = this.#expiry(NewTokenBody, expires_at);
    const issued = await this.#options.operators.issueToken(id, expiresAtMs, label?.toWellFormed() ?? null);
    return issuedView(operator, issued);
  }

  async revokeToken(id: string, tokenId: string): Promise<OperatorView> {
    await this.#operator(id);
    if (await this.#options.operators.revokeToken(id, tokenId)) return this.show(id);
    throw new AdminError('refused', `operator ${id} has no token ${JSON.stringify(tokenId)} that can be revoked`);
  }

  /** A link that signs in at the console, once. */
  async link(id: string): Promise<SignInLinkView> {
    const { operators } = this.#options;
    const { origin, fingerprint } = this.#options.console();
    if (origin === null) throw new AdminError('refused', NO_CONSOLE);
    await this.#active(id);
    const { text, credential } = await operators.issueSignIn(id);
    const expires_at = isoTime(credential.expiresAtMs);
    return { url: `${origin}/#token=${text}`, expires_at, certificate_sha256: fingerprint };
  }

  /** Newest first. */
  async auditTrail(query: View<typeof AuditTrailQuery>): Promise<View<typeof AuditTrailPage>> {
    const { limit, cursor, actor: actorId, action, target, outcome, since, until } = query;
    const times = { sinceMs: trailTime('since', since), untilMs: trailTime('until', until) };
    return numberedPage(
      { limit, cursor },
      ({ limit: count, before }) =>
        this.#options.operators.auditTrail({
          limit: count,
          before: before ?? undefined,
          ...{ actorId, action, target, outcome },
          ...times,
        }),
      auditTrailEntryView,
    );
  }

  async #account(role: Role, given: string | null | undefined): Promise<string | null> {
    const accountId = accountOf(role, given);
    if (accountId === null || (await this.#options.accountExists(accountId))) return accountId;
    throw new AdminError(
      'unknown_account',
      `account_id ${JSON.stringify(accountId)} does not exist: list the accounts with "gateway accounts list"`,
      { field: 'account_id' },
    );
  }

  async #operator(id: string): Promise<Operator> {
    const operator = await this.#options.operators.find(id);
    if (operator !== null) return operator;
    throw new AdminError(
      'unknown_operator',
      `operator ${JSON.stringify(id)} does not exist: list them with "gateway operators list"`,
    );
  }

  async #active(id: string): Promise<Operator> {
    const operator = await this.#operator(id);
    if (operator.revokedAtMs === null) return operator;
    throw new AdminError('refused', `operator ${operator.name} is revoked, which is final: create another one`);
  }

  async #changeable(id: string): Promise<void> {
    await this.#active(id);
    if (id !== BUILT_IN_OWNER) return;
    throw new AdminError(
      'refused',
      'the built-in owner cannot be revoked: whoever has the admin secret is the owner (delete admin.secret and restart for a new one)',
    );
  }

  #expiry(schema: ObjectSchema, value: string | undefined): number {
    const nowMs = this.#options.clock.nowMs();
    if (value === undefined) return nowMs + TOKEN_MS;
    const atMs = readTime(value);
    if (atMs === null || atMs > nowMs + TOKEN_MS_MAX) throw unexpected(schema, 'expires_at', value);
    if (atMs <= nowMs) throw invalid('expires_at', `is ${JSON.stringify(value)}: must be in the future`);
    return atMs;
  }
}

function trailTime(field: 'since' | 'until', value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const atMs = readTime(value);
  if (atMs === null) throw unexpected(AuditTrailQuery, field, value);
  return atMs;
}

function accountOf(role: Role, accountId: string | null | undefined): string | null {
  if (role !== 'account-admin') {
    if (accountId === undefined || accountId === null) return null;
    throw invalid('account_id', `belongs to the role account-admin; ${role} has all accounts`);
  }
  if (accountId === undefined || accountId === null) {
    throw invalid('account_id', 'is missing: an account-admin has one account and what is below it');
  }
  return accountId;
}

function listedView({ id, name, role, accountId, createdAtMs, revokedAtMs }: Operator): ListedOperatorView {
  const built_in = id === BUILT_IN_OWNER;
  const status = revokedAtMs === null ? 'active' : 'revoked';
  return {
    id,
    name,
    role,
    account_id: accountId,
    status,
    built_in,
    created_at: built_in ? null : isoTime(createdAtMs),
  };
}

function tokenView({ id, label, createdAtMs, expiresAtMs, endedAtMs }: Credential, nowMs: number) {
  const status: 'active' | 'expired' | 'revoked' =
    endedAtMs !== null ? 'revoked' : expiresAtMs <= nowMs ? 'expired' : 'active';
  return { id, label, status, created_at: isoTime(createdAtMs), expires_at: isoTime(expiresAtMs) };
}

function issuedView(operator: Operator, { text, credential }: IssuedSecret): IssuedTokenView {
  return {
    token: text,
    token_id: credential.id,
    expires_at: isoTime(credential.expiresAtMs),
    operator: listedView(operator),
  };
}

function isoTime(atMs: number): string {
  return new Date(atMs).toISOString();
}

function auditTrailEntryView(entry: AuditTrailEntry): AuditTrailEntryView {
  const { actor, from } = entry;
  return {
    number: entry.number,
    at: new Date(entry.atMs).toISOString(),
    actor: actor && { id: actor.id, name: actor.name, role: actor.role, via: actor.via },
    action: entry.action,
    target: entry.target,
    outcome: entry.outcome,
    reason: entry.reason,
    before: entry.before === null ? null : JSON.parse(entry.before),
    after: entry.after === null ? null : JSON.parse(entry.after),
    address: from.address,
    user_agent: from.userAgent,
    request_id: from.requestId,
  };
}
