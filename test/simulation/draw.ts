/** Draws the operations of a step: mostly sensible ones, some late, repeated, misdirected or out of range. */
import type { Operation } from '../../src/ledger/operations.ts';
import type { KeyChange, Mark, NewKey, SettleRequest } from '../../src/ledger/port.ts';
import { accountCredit, createAccount, onAccounts } from './draw-accounts.ts';
import { DrawParts, OWNERS, PERIODS } from './draw-parts.ts';
import type { Model } from './model.ts';
import type { ModelKey } from './model-parts.ts';
import type { Random } from './random.ts';

export const LEASE_MS = 10_000;
export const MANY = 100_000;
const CLAIMS = ['order 1', 'order 2', 'order 3'] as const;

/** How often each kind of operation is drawn. */
const WEIGHTS = {
  admit: 44,
  settle: 17,
  mark: 8,
  void: 4,
  extend: 11,
  owner: 3,
  recover: 4,
  prune: 2,
  rollUp: 3,
  changeKey: 5,
  addCredit: 3,
  money: 4,
  secret: 1,
  createKey: 1,
  account: 6,
  read: 2,
  bad: 1,
} as const;

export class Draw {
  readonly #parts: DrawParts;
  readonly #random: Random;
  readonly #model: Model;
  readonly #step: number;

  constructor(random: Random, model: Model, step: number) {
    this.#parts = new DrawParts(random, model, step);
    this.#random = random;
    this.#model = model;
    this.#step = step;
  }

  batch(): readonly Operation[] {
    const count = this.#random.between(1, 6);
    return [...this.#signsOfLife(), ...Array.from({ length: count }, () => this.#operations()).flat()];
  }

  /** Most processes keep their lease most of the time; one that has none takes one before it works. */
  #signsOfLife(): readonly Operation[] {
    return OWNERS.filter(() => this.#random.chance(80)).map((owner) => ({
      op: this.#model.owners.has(owner) ? 'heartbeat' : 'registerOwner',
      owner,
      leaseMs: LEASE_MS,
    }));
  }

  #operations(): readonly Operation[] {
    switch (this.#random.weighted(WEIGHTS)) {
      case 'admit':
        return [this.#admit()];
      case 'settle':
        return [this.#settle()];
      case 'mark':
        return [this.#marks(Array.from({ length: this.#random.between(1, 3) }, () => this.#mark()))];
      case 'void':
        return [{ op: 'void', ...this.#parts.holdOf() }];
      case 'extend':
        return this.#random.chance(50) ? [this.#extend(this.#parts.holdOf())] : this.#extendAll();
      case 'owner':
        return [this.#owner()];
      case 'recover':
        // A bounded step may end any of the holds that are due; with the next one all of them are ended.
        return [
          ...(this.#random.chance(30) ? [{ op: 'recover', limit: this.#random.between(1, 3) } as const] : []),
          { op: 'recover', limit: MANY },
        ];
      case 'prune':
        return [{ op: 'prune', limit: MANY, usageKeepMs: this.#random.chance(50) ? null : 3_600_000 }];
      case 'rollUp':
        return [{ op: 'rollUp', limit: this.#random.chance(50) ? MANY : this.#random.between(1, 3) }];
      case 'changeKey':
        return [this.#changeKey()];
      case 'addCredit':
        return [this.#addCredit()];
      case 'money':
        return [this.#money()];
      case 'secret':
        return [this.#secret()];
      case 'createKey':
        return [this.createKey()];
      case 'account':
        return [onAccounts(this.#parts)];
      case 'read':
        return [this.#read()];
      case 'bad':
        return [this.#bad()];
    }
  }

  createKey(below?: string | null): Operation {
    const random = this.#random;
    const known = below === undefined && random.chance(10) ? this.#parts.key() : undefined;
    if (known !== undefined) {
      const [secret] = known.secrets;
      if (secret !== undefined) return { op: 'createKey', request: { ...known.record, credit: 1n, secret } };
    }
    const id = this.#parts.newId('k');
    const mode = random.chance(50) ? 'credit' : 'token_budget';
    const accounts = [...this.#model.accounts.keys()];
    const accountId = below !== undefined ? below : random.chance(50) ? (random.pick(accounts) ?? null) : null;
    const pays = mode === 'credit' && (accountId === null || random.chance(3));
    const request: NewKey = {
      id,
      mode,
      label: null,
      providerScope: 'all',
      models: null,
      rpmLimit: random.chance(60) ? null : random.between(1, 6),
      ...this.#parts.limits(),
      expiresAtMs: random.chance(90) ? null : this.#model.nowMs + random.between(1, 600) * 1_000,
      budget: mode === 'credit' || random.chance(15) ? null : this.#parts.amount(2_000),
      period: random.pick(PERIODS),
      accountId,
      cap: mode === 'credit' && accountId !== null && random.chance(30) ? this.#parts.amount(2_000) : null,
      credit: pays ? this.#parts.amount(2_000) : 0n,
      secret: { digest: `digest ${id}`, prefix: `prefix ${id}` },
    };
    return { op: 'createKey', request };
  }

  /** A root with credit, some accounts below it, and keys at any level. */
  tree(): readonly Operation[] {
    const random = this.#random;
    const root = createAccount(this.#parts, null);
    const ids = [root.request.id];
    const below = Array.from({ length: random.between(0, 4) }, () => {
      // Often below the one before, so that trees are deep.
      const account = createAccount(this.#parts, (random.chance(50) ? ids.at(-1) : random.pick(ids)) ?? null);
      ids.push(account.request.id);
      return account;
    });
    const keys = Array.from({ length: random.between(1, 3) }, () => this.createKey(random.pick(ids) ?? null));
    return [root, accountCredit(this.#parts, root.request.id), ...below, ...keys];
  }

  #admit(): Operation {
    const random = this.#random;
    const key = this.#parts.key();
    const owner = this.#parts.ownerName();
    const keyId = key?.record.id ?? 'nobody';
    const version = key?.record.version ?? 1;
    const earlier = random.chance(6) && key ? random.pick(this.#parts.recentHolds(key)) : undefined;
    const amount = this.#parts.amount(random.chance(30) ? 1_500 : 300);
    const claim = { name: random.pick(CLAIMS), fingerprint: random.chance(85) ? 'same' : 'other' };
    return {
      op: 'admit',
      owner,
      request: {
        keyId,
        keyVersion: random.chance(97) ? version : version - 1,
        ...(random.chance(5) ? { rateCounted: true } : {}),
        ...(earlier === undefined && amount % 3n !== 0n ? { newHold: true } : {}),
        claim: random.chance(35) ? claim : null,
        hold: random.chance(12)
          ? null
          : {
              id: earlier?.id ?? this.#parts.newId('h'),
              amount,
              amountMin: random.chance(60) ? amount : amount / 3n,
              ...(amount % 7n === 0n ? { room: Number(amount % 4n) } : {}),
              ...this.#holdTokens(key),
              ...(random.chance(80) ? { inputTokens: random.int(random.chance(90) ? 30 : 80) } : {}),
              ttlMs: random.between(5, 300) * 1_000,
            },
      },
    };
  }

  /** Most requests of a credit key of an account say how many tokens they are about. */
  #holdTokens(key: ModelKey | undefined): { tokens?: bigint; tokensMin?: bigint } {
    if (key?.record.accountId == null || key.record.mode !== 'credit' || this.#random.chance(15)) return {};
    const tokens = this.#parts.amount(this.#random.chance(30) ? 1_500 : 300);
    return this.#random.chance(60) ? { tokens } : { tokens, tokensMin: tokens / 3n };
  }

  #settle(): Operation {
    const random = this.#random;
    const reply = { status: 200, contentType: 'text/plain', body: Uint8Array.of(random.int(256), 10) };
    return {
      op: 'settle',
      request: {
        ...this.#parts.holdOf(),
        charge: this.#parts.amount(random.chance(90) ? 250 : 2_000),
        ...(random.chance(60) ? { chargeTokens: this.#parts.amount(random.chance(90) ? 250 : 2_000) } : {}),
        ...this.#call(),
        ...(random.chance(50) ? { outputTokens: random.int(20) } : {}),
        reply: random.chance(50) ? reply : null,
        noReplyReason: random.chance(50) ? 'charged_incomplete' : 'reply_not_stored',
        flag: random.chance(10) ? 'odd' : null,
      },
    };
  }

  /** Mostly with a usage record; cancelled calls have none, and those of an earlier release say nothing at all. */
  #call(): Pick<SettleRequest, 'usage' | 'call'> {
    if (this.#random.chance(70)) return { usage: this.#parts.usage() };
    return { usage: null, call: this.#random.chance(80) ? this.#parts.usage() : null };
  }

  #extend(hold: { readonly keyId: string; readonly holdId: string }): Operation {
    const tokens = this.#random.chance(60) ? { tokens: this.#parts.amount(400) } : {};
    const amount = this.#parts.amount(400);
    return { op: 'extend', ...hold, amount, ...tokens, ...leastOf(amount) };
  }

  /**
   * Holds of a key, or of all keys below an account, that want all there is, so that they come to wait for each other; some
   * are content with what they have.
   */
  #extendAll(): readonly Operation[] {
    const random = this.#random;
    const all = this.#model.live();
    const one = random.pick(all);
    if (one === undefined) return [];
    const shared = random.chance(60) ? random.pick(one.hold.path) : undefined;
    const live = all.filter(({ key, hold }) => (shared === undefined ? key === one.key : hold.path.includes(shared)));
    return live
      .filter(() => random.chance(70))
      .map(({ key, hold }) => {
        const means = this.#model.means(key);
        const amount = random.chance(75) && means > 0n ? means : hold.amount;
        return { op: 'extend', keyId: key.record.id, holdId: hold.id, amount };
      });
  }

  /** Mostly newer than all before; some arrive late. */
  #marks(marks: readonly Mark[]): Operation {
    return { op: 'mark', number: this.#random.chance(85) ? this.#step : this.#random.between(0, this.#step), marks };
  }

  #mark(): Mark {
    return { ...this.#parts.holdOf(), charge: this.#parts.amount(200), tokens: this.#parts.tokens() };
  }

  #owner(): Operation {
    const owner = this.#parts.ownerName();
    const living = this.#model.owners.has(owner);
    return { op: living && this.#random.chance(90) ? 'heartbeat' : 'registerOwner', owner, leaseMs: LEASE_MS };
  }

  #changeKey(): Operation {
    const key = this.#parts.key();
    return { op: 'changeKey', keyId: key?.record.id ?? 'nobody', change: this.#change(key) };
  }

  #change(key: ModelKey | undefined): KeyChange {
    const random = this.#random;
    // A key that cannot be used is soon put right, or nothing would happen any more.
    if (key !== undefined && this.#model.status(key) !== 'active' && random.chance(80)) {
      return { status: 'active', expiresAtMs: null };
    }
    return random.pick<KeyChange>([
      { status: random.pick(['active', 'active', 'suspended', 'disabled', 'revoked'] as const) },
      { rpmLimit: random.chance(30) ? null : random.between(0, 5) },
      random.chance(60)
        ? { tpmLimit: random.chance(50) ? null : random.between(0, 60) }
        : { parallelLimit: random.chance(60) ? null : random.between(0, 4) },
      { budget: random.chance(20) ? null : this.#parts.amount(2_000) },
      { cap: random.chance(20) ? null : this.#parts.amount(2_000) },
      { period: random.pick(PERIODS) },
      { period: random.pick(PERIODS) },
      { expiresAtMs: random.chance(50) ? null : this.#model.nowMs + random.between(0, 600) * 1_000 },
    ]);
  }

  #addCredit(): Operation {
    const key = this.#parts.key();
    const earlier = this.#random.chance(15) ? this.#random.pick([...(key?.purchases ?? [])]) : undefined;
    const amountNanos = this.#random.chance(2) ? 2n ** 63n - 1n : this.#parts.amount(1_000);
    return {
      op: 'addCredit',
      keyId: key?.record.id ?? 'nobody',
      entryId: earlier?.[0] ?? this.#parts.newId('p'),
      amountNanos: earlier?.[1] ?? amountNanos,
      note: null,
      ...(earlier === undefined || this.#random.chance(20) ? this.#parts.promotional() : {}),
    };
  }

  /** Refunds and corrections: mostly new ones, some sent again or with another amount. */
  #money(): Operation {
    const random = this.#random;
    const amountNanos = this.#parts.amount(random.chance(80) ? 120 : 2_000);
    if (random.chance(35)) {
      const payers = [...this.#model.keys.values(), ...this.#model.accounts.values()];
      const payerId = (random.chance(98) ? random.pick(payers)?.record.id : undefined) ?? 'nobody';
      const entryId = random.chance(90) ? this.#parts.newId('c') : 'correction';
      return {
        op: 'correct',
        request: { payerId, entryId, amountNanos: random.chance(50) ? amountNanos : -amountNanos, note: null },
      };
    }
    const again = random.chance(15) ? random.pick(this.#model.refunds) : undefined;
    const charges = [...this.#model.keys.values()].flatMap(({ record, charges: all }) =>
      all.map(({ id }) => ({ keyId: record.id, chargeId: id })),
    );
    const charge = again ?? (random.chance(95) ? random.pick(charges) : undefined);
    const { keyId, chargeId } = charge ?? { keyId: this.#parts.keyId(), chargeId: 'nothing' };
    // Now and then the id of the newest refund, for another charge; no draw of its own, so that seeds mean what they meant.
    const newest = amountNanos % 5n === 0n ? this.#model.refunds.at(-1)?.entryId : undefined;
    const entryId = again?.entryId ?? newest ?? this.#parts.newId('r');
    return {
      op: 'refund',
      request: {
        keyId,
        chargeId,
        entryId,
        amountNanos: random.chance(40) ? null : (again?.amount ?? amountNanos),
        note: null,
      },
    };
  }

  #secret(): Operation {
    const key = this.#parts.key();
    const keyId = key?.record.id ?? 'nobody';
    const known = this.#random.pick(key?.secrets ?? []);
    if (this.#random.chance(40)) return { op: 'revokeSecret', keyId, prefix: known?.prefix ?? 'none' };
    const name = this.#parts.newId('s');
    const again = this.#random.chance(15) ? known : undefined;
    return {
      op: 'addSecret',
      keyId,
      digest: again?.digest ?? `digest ${name}`,
      prefix: again?.prefix ?? `prefix ${name}`,
    };
  }

  #read(): Operation {
    const key = this.#parts.key();
    const keyId = key?.record.id ?? 'nobody';
    const digest = this.#random.pick(key?.secrets ?? [])?.digest ?? 'none';
    return this.#random.pick<Operation>([
      { op: 'summary', keyId },
      { op: 'getKey', keyId },
      { op: 'findKey', digest },
      { op: 'ping' },
    ]);
  }

  /** One operation of a batch cannot be done; the others must be. */
  #bad(): Operation {
    // Of a key that exists: which of two reasons to refuse comes first is open.
    const keyId = this.#random.pick([...this.#model.keys.keys()]) ?? 'nobody';
    const settle = this.#settle();
    return this.#random.pick<Operation>([
      this.#marks([this.#mark(), { ...this.#mark(), charge: -1n }]),
      settle.op === 'settle' ? { op: 'settle', request: { ...settle.request, charge: -1n } } : settle,
      settle.op === 'settle' ? { op: 'settle', request: { ...settle.request, chargeTokens: -1n } } : settle,
      {
        op: 'admit',
        owner: this.#parts.ownerName(),
        request: {
          keyId,
          keyVersion: 1,
          claim: null,
          hold: { id: this.#parts.newId('h'), amount: 5n, amountMin: 6n, ttlMs: 1 },
        },
      },
    ]);
  }
}

/** A settlement takes all that it can get; a stream needs some of it. */
function leastOf(amount: bigint): { readonly amountMin?: bigint; readonly tokensMin?: bigint } {
  switch (amount % 4n) {
    case 0n:
      return { amountMin: 0n, tokensMin: 0n };
    case 1n:
      return { amountMin: amount / 2n, tokensMin: amount / 3n };
    default:
      return {};
  }
}
