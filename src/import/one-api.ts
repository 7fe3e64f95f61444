/** one-api and new-api: channels, users and tokens, from their database or from JSON of the same rows. */
import { decimalCredits } from '../core/money.ts';
import {
  ImportPlan,
  isRecord,
  numberIn,
  type ProviderEntry,
  recordsIn,
  textIn,
  withoutPath,
  withVersion,
} from './plan.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The two number their kinds of channels alike up to a point. */
export type OneApiFlavour = 'one-api' | 'new-api';

interface Kind {
  /** The provider's name here. */
  readonly name: string;
  readonly entry?: ProviderEntry;
}

const COMMON: Readonly<Record<number, Kind>> = {
  1: { name: 'openai' },
  3: { name: 'azure', entry: { kind: 'azure' } },
  8: { name: 'custom', entry: { kind: 'openai' } },
  14: { name: 'anthropic' },
  20: { name: 'openrouter' },
  24: { name: 'gemini' },
  25: { name: 'moonshot', entry: { kind: 'openai', base_url: 'https://api.moonshot.cn/v1' } },
};
const KINDS: Readonly<Record<OneApiFlavour, Readonly<Record<number, Kind>>>> = {
  'one-api': {
    ...COMMON,
    28: { name: 'mistral' },
    29: { name: 'groq' },
    30: { name: 'ollama', entry: { kind: 'openai', base_url: 'http://127.0.0.1:11434/v1' } },
    36: { name: 'deepseek' },
    39: { name: 'together' },
  },
  'new-api': {
    ...COMMON,
    4: { name: 'ollama', entry: { kind: 'openai', base_url: 'http://127.0.0.1:11434/v1' } },
    40: { name: 'siliconflow', entry: { kind: 'openai', base_url: 'https://api.siliconflow.cn/v1' } },
    42: { name: 'mistral' },
    43: { name: 'deepseek' },
    48: { name: 'xai' },
  },
};

const ENABLED = 1;
/** Their unit of quota: so many are a dollar. */
const QUOTA_PER_USD = 500_000n;
const NANOS = 1_000_000_000n;

/** `rows`: an object with the rows of the tables `channels`, `tokens` and `users`. */
export function fromOneApi(flavour: OneApiFlavour, rows: unknown): ImportPlan {
  const plan = new ImportPlan();
  const tables: Fields = isRecord(rows) ? rows : {};
  const channels = recordsIn(tables.channels).toSorted(
    (one, other) => (numberIn(other, 'priority') ?? 0) - (numberIn(one, 'priority') ?? 0),
  );
  for (const channel of channels) takeChannel(plan, flavour, channel);
  if (plan.models.length === 0) plan.notes.push('channels: no model could be taken');
  takeTokens(plan, flavour, recordsIn(tables.tokens), recordsIn(tables.users));
  return plan;
}

function takeChannel(plan: ImportPlan, flavour: OneApiFlavour, channel: Fields): void {
  const label = textIn(channel, 'name') ?? String(numberIn(channel, 'id') ?? 'unnamed');
  const type = numberIn(channel, 'type') ?? 0;
  const kind = KINDS[flavour][type];
  if ((numberIn(channel, 'status') ?? ENABLED) !== ENABLED) {
    plan.notes.push(`channel ${label}: it is disabled`);
    return;
  }
  if (kind === undefined) {
    plan.notes.push(`channel ${label}: its type ${type} is not known here`);
    return;
  }
  const base = textIn(channel, 'base_url');
  if (base === null && kind.entry !== undefined && kind.entry.base_url === undefined) {
    plan.notes.push(`channel ${label}: it has no base_url`);
    return;
  }
  const name = providerOf(plan, kind, label, base, keysOf(channel));
  const mapping = mappingOf(plan, label, channel);
  const weight = numberIn(channel, 'weight');
  const models = (textIn(channel, 'models') ?? '').split(',').map((each) => each.trim());
  for (const id of new Set(models.filter((each) => each !== ''))) {
    plan.target(id, { provider: name, model: mapping.get(id) ?? id, ...(weight !== null && weight > 0 && { weight }) });
  }
  const group = textIn(channel, 'group');
  if (group !== null && group !== 'default') plan.notes.push(`channel ${label}: its group ${group} was not taken`);
}

function keysOf(channel: Fields): readonly string[] {
  return (textIn(channel, 'key') ?? '')
    .split('\n')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

function providerOf(plan: ImportPlan, kind: Kind, label: string, base: string | null, keys: readonly string[]): string {
  const secrets = keys.map((key) => plan.secret(label, key));
  const [first, ...more] = secrets;
  const address = base === null ? {} : { kind: kind.entry?.kind ?? kindOf(kind.name), base_url: addressOf(kind, base) };
  return plan.provider(kind.name, {
    ...kind.entry,
    ...address,
    ...(first === undefined ? {} : more.length === 0 ? { api_key: first } : { api_keys: secrets }),
  });
}

function kindOf(name: string): 'openai' | 'anthropic' {
  return name === 'anthropic' ? 'anthropic' : 'openai';
}

function addressOf({ name }: Kind, base: string): string {
  if (name === 'azure' || name === 'anthropic') return withoutPath(base);
  return withVersion(base);
}

function mappingOf(plan: ImportPlan, label: string, channel: Fields): ReadonlyMap<string, string> {
  const text = textIn(channel, 'model_mapping');
  if (text === null) return new Map();
  try {
    const parsed: unknown = JSON.parse(text);
    if (isRecord(parsed)) return new Map(Object.entries(parsed).map(([from, to]) => [from, String(to)]));
  } catch {
    // Named below.
  }
  plan.notes.push(`channel ${label}: its model_mapping is not JSON`);
  return new Map();
}

/** A user's quota is the balance that all of its tokens spend; what remains of a token is the most that it may take of it. */
function takeTokens(
  plan: ImportPlan,
  flavour: OneApiFlavour,
  tokens: readonly Fields[],
  users: readonly Fields[],
): void {
  const owners = new Map<string, Fields | undefined>();
  const nowMs = Date.now();
  for (const token of tokens) {
    const label = textIn(token, 'name') ?? String(numberIn(token, 'id') ?? 'unnamed');
    if ((numberIn(token, 'status') ?? ENABLED) !== ENABLED) {
      plan.notes.push(`token ${label}: it is disabled, used up or expired`);
      continue;
    }
    const expires = numberIn(token, 'expired_time') ?? -1;
    if (expires > 0 && expires * 1_000 <= nowMs) {
      plan.notes.push(`token ${label}: it has expired`);
      continue;
    }
    const userId = String(numberIn(token, 'user_id') ?? 0);
    owners.set(
      userId,
      users.find((user) => String(numberIn(user, 'id') ?? 0) === userId),
    );
    const unlimited = token.unlimited_quota === true || numberIn(token, 'unlimited_quota') === 1;
    plan.keys.push({
      mode: 'credit',
      label,
      account: `${flavour}-user-${userId}`,
      cap: unlimited ? '' : usd(numberIn(token, 'remain_quota') ?? 0),
      period: unlimited ? '' : 'none',
      models: modelsOf(token).join(' '),
      expires_at: expires > 0 ? new Date(expires * 1_000).toISOString() : '',
    });
  }
  for (const [userId, user] of owners) {
    const quota = user === undefined ? null : numberIn(user, 'quota');
    if (user === undefined)
      plan.notes.push(`user ${userId}: it is not in the file; its account is made without credit`);
    plan.accounts.push({
      externalId: `${flavour}-user-${userId}`,
      name: (user && (textIn(user, 'display_name') ?? textIn(user, 'username'))) ?? `user ${userId}`,
      credit: quota === null || quota <= 0 ? null : usd(quota),
      flags: [],
    });
  }
  if (tokens.length > 0) {
    plan.notes.push(
      'tokens: their texts; every client gets a new key, which "gateway import keys.csv" prints, unless you add the old text in a column "key"',
    );
  }
}

/** one-api has a list; new-api has one that may be switched off. */
function modelsOf(token: Fields): readonly string[] {
  const limited = token.model_limits_enabled === true || numberIn(token, 'model_limits_enabled') === 1;
  const text = textIn(token, 'models') ?? (limited ? textIn(token, 'model_limits') : null) ?? '';
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

function usd(quota: number): string {
  return decimalCredits((BigInt(Math.max(0, Math.trunc(quota))) * NANOS) / QUOTA_PER_USD);
}
