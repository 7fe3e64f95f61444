/** LiteLLM: its `config.yaml`, and what its proxy lists of keys and teams. */
import { KNOWN_HOSTS } from '../config/kinds.ts';
import { isTextModelName } from '../config/price-book.ts';
import {
  ImportPlan,
  isRecord,
  type KeyEntry,
  numberIn,
  type ProviderEntry,
  recordsIn,
  textIn,
  withoutPath,
  withVersion,
} from './plan.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What LiteLLM calls providers that have another name here. */
const RENAMED: Readonly<Record<string, string>> = { together_ai: 'together', fireworks_ai: 'fireworks' };
/** Servers of one's own that speak OpenAI's format. */
const OWN_SERVERS: readonly string[] = [
  'hosted_vllm',
  'vllm',
  'openai_like',
  'custom_openai',
  'lm_studio',
  'xinference',
];
const OLLAMA: readonly string[] = ['ollama', 'ollama_chat'];
const MODES: readonly unknown[] = [undefined, null, 'chat', 'completion', 'responses'];
/** What is said of a deployment and has a place here; the rest is named. */
const TAKEN: readonly string[] = [
  ...['model', 'api_key', 'api_base', 'api_version', 'weight', 'input_cost_per_token', 'output_cost_per_token'],
  'cache_read_input_token_cost',
];

/** `listed`: what `GET /key/list?return_full_object=true` and `GET /team/list` answer, where there is such a file. */
export function fromLitellm(config: unknown, listed: unknown): ImportPlan {
  const plan = new ImportPlan();
  const fields: Fields = isRecord(config) ? config : {};
  for (const entry of recordsIn(fields.model_list)) takeModel(plan, entry);
  if (plan.models.length + plan.patterns.size === 0) plan.notes.push('model_list: no model could be taken');
  for (const section of ['router_settings', 'litellm_settings', 'general_settings', 'environment_variables']) {
    const settings = isRecord(fields[section]) ? fields[section] : {};
    takeFallbacks(plan, settings[FALLBACKS]);
    const names = Object.keys(settings).filter((name) => name !== FALLBACKS);
    if (names.length > 0)
      plan.notes.push(`${section}: ${names.join(', ')} ${names.length === 1 ? 'was' : 'were'} not taken`);
  }
  takeListed(plan, listed);
  return plan;
}

const FALLBACKS = 'fallbacks';

/** `[{ "a": ["b", "c"] }]`: where `a` fails, the deployments of `b` and `c` are tried. */
function takeFallbacks(plan: ImportPlan, fallbacks: unknown): void {
  const found = recordsIn(fallbacks).flatMap((entry) => Object.entries(entry));
  // Those of a model are its own, not what it got from another one meanwhile.
  const own = new Map(plan.models.map(({ id, targets }) => [id, [...targets]]));
  for (const [id, names] of found) {
    const model = plan.models.find((each) => each.id === id);
    for (const name of Array.isArray(names) ? names.map(String) : []) {
      const targets = own.get(name);
      if (model === undefined || targets === undefined) {
        plan.notes.push(`${id}: its fallback ${name} is not among the models that were taken`);
        continue;
      }
      const weighted = model.targets.some(({ weight }) => weight !== undefined);
      // A weight of nothing: it is tried after those that have one.
      for (const { provider, model: upstream } of targets)
        model.targets.push({ provider, model: upstream, ...(weighted && { weight: 0 }) });
      plan.notes.push(`${id}: its fallback ${name} became further targets, charged at the price of ${id}`);
    }
  }
}

/** Every model of a known provider, under the ids that they have here. */
function takePattern(plan: ImportPlan, id: string, upstream: string, params: Fields): void {
  const [, prefix = '', start = ''] = /^([^/*]+)\/([^*]*)\*$/.exec(upstream) ?? [];
  const host = KNOWN_HOSTS.find(({ name }) => name === (RENAMED[prefix] ?? prefix));
  if (host === undefined || textIn(params, 'api_base') !== null) {
    plan.notes.push(`${id}: a wildcard of a provider whose models and prices are not published: name the models`);
    return;
  }
  const place = placeOf(plan, id, upstream, params);
  if (place === null) return;
  const pattern = `${place.provider}/${start}*`;
  plan.patterns.set(pattern, { id: pattern, provider: place.provider });
  if (pattern !== id) plan.notes.push(`${id}: became ${pattern}; clients ask for ${place.provider}/NAME`);
}

function takeModel(plan: ImportPlan, entry: Fields): void {
  const id = textIn(entry, 'model_name');
  const params: Fields = isRecord(entry.litellm_params) ? entry.litellm_params : {};
  const info: Fields = isRecord(entry.model_info) ? entry.model_info : {};
  const upstream = textIn(params, 'model');
  if (id === null || upstream === null) {
    plan.notes.push(
      `model_list: an entry without ${id === null ? 'model_name' : `litellm_params.model (${id})`} was left out`,
    );
    return;
  }
  if (!MODES.includes(info.mode) || (info.mode === undefined && !isTextModelName(upstream))) {
    plan.notes.push(`${id}: ${String(info.mode ?? upstream)} is not text generation, which is all that is served here`);
    return;
  }
  if (id.includes('*') || upstream.includes('*')) {
    takePattern(plan, id, upstream, params);
    return;
  }
  const place = placeOf(plan, id, upstream, params);
  if (place === null) return;
  const weight = numberIn(params, 'weight');
  const model = plan.target(id, { ...place, ...(weight !== null && weight > 0 && { weight }) });
  const output = numberIn(info, 'max_output_tokens') ?? numberIn(info, 'max_tokens');
  if (output !== null && output >= 1) model.max_output_tokens = Math.floor(output);
  takePrice(model, params, info);
  const left = Object.keys(params).filter((name) => !TAKEN.includes(name));
  if (left.length > 0) plan.notes.push(`${id}: ${left.join(', ')} of its deployment at ${place.provider} not taken`);
}

function takePrice(model: ReturnType<ImportPlan['target']>, params: Fields, info: Fields): void {
  const perMillion = (name: string): number | null => {
    const price = numberIn(params, name) ?? numberIn(info, name);
    // Beyond a millionth of a dollar per million tokens there is only the noise of binary fractions.
    return price === null ? null : Math.round(price * 1e12) / 1e6;
  };
  const [input, output] = [perMillion('input_cost_per_token'), perMillion('output_cost_per_token')];
  if (input === null || output === null) return;
  const cached = perMillion('cache_read_input_token_cost');
  model.pricing = { input, output, ...(cached !== null && { cache_read: cached }) };
}

function placeOf(
  plan: ImportPlan,
  id: string,
  upstream: string,
  params: Fields,
): { provider: string; model: string } | null {
  const slash = upstream.indexOf('/');
  const prefix = slash < 0 ? (upstream.startsWith('claude') ? 'anthropic' : 'openai') : upstream.slice(0, slash);
  const model = upstream.slice(slash + 1);
  const name = RENAMED[prefix] ?? prefix;
  const base = addressIn(plan, params, 'api_base');
  const host = KNOWN_HOSTS.find((each) => each.name === name);
  const key = keyOf(
    plan,
    name,
    textIn(params, 'api_key') ?? (host === undefined ? null : `os.environ/${host.variable}`),
  );
  const credential: ProviderEntry = key === null ? {} : { api_key: key };
  if (name === 'azure') {
    if (base === null) return left(plan, id, 'azure needs an api_base');
    const version = textIn(params, 'api_version');
    const entry: ProviderEntry = {
      kind: 'azure',
      base_url: base.startsWith('$') ? base : withoutPath(base),
      ...credential,
    };
    return { provider: plan.provider('azure', { ...entry, ...(version !== null && { api_version: version }) }), model };
  }
  if (OLLAMA.includes(name)) {
    const entry: ProviderEntry = { kind: 'openai', base_url: withVersion(base ?? 'http://127.0.0.1:11434') };
    return { provider: plan.provider('ollama', { ...entry, ...credential }), model };
  }
  if (OWN_SERVERS.includes(name) || (name === 'openai' && base !== null && !isHost(base, host?.baseUrl))) {
    if (base === null) return left(plan, id, `${name} needs an api_base`);
    const wanted = name === 'openai' ? hostName(base) : name;
    return { provider: plan.provider(wanted, { kind: 'openai', base_url: versioned(base), ...credential }), model };
  }
  if (host === undefined) {
    return left(
      plan,
      id,
      `${prefix} is not known here: see kind ai-sdk in docs/run/configuration.md for providers of their own format`,
    );
  }
  const address = base === null || isHost(base, host.baseUrl) ? {} : { kind: host.kind, base_url: versioned(base) };
  return { provider: plan.provider(name, { ...address, ...credential }), model };
}

function left(plan: ImportPlan, id: string, why: string): null {
  plan.notes.push(`${id}: ${why}`);
  return null;
}

/** `os.environ/NAME` is a variable there and here. */
function addressIn(plan: ImportPlan, params: Fields, name: string): string | null {
  const text = textIn(params, name);
  if (text === null) return null;
  return keyOf(plan, name, text.startsWith('os.environ/') ? text : null) ?? text;
}

function keyOf(plan: ImportPlan, provider: string, text: string | null): string | null {
  if (text === null) return null;
  const [, variable] = /^os\.environ\/(\w+)$/.exec(text) ?? [];
  return variable === undefined ? plan.secret(provider, text) : `\${${variable}}`;
}

function versioned(base: string): string {
  return base.startsWith('$') ? base : base.replace(/\/+$/, '');
}

function isHost(base: string, known: string | undefined): boolean {
  return known !== undefined && URL.canParse(base) && URL.canParse(known) && new URL(base).host === new URL(known).host;
}

function hostName(base: string): string {
  return URL.canParse(base) ? new URL(base).hostname : 'openai-compatible';
}

const PERIODS: Readonly<Record<string, string>> = {
  ...{ '1d': 'day', '24h': 'day', '7d': 'week', '1w': 'week', '30d': 'month', '31d': 'month', '1mo': 'month' },
};
/** The root of keys that have no team. */
const NO_TEAM = 'litellm';

function takeListed(plan: ImportPlan, listed: unknown): void {
  const fields: Fields = isRecord(listed) ? listed : Array.isArray(listed) ? { keys: listed } : {};
  const teams = recordsIn(fields.teams);
  const keys = recordsIn(fields.keys ?? fields.data);
  const externalIds = new Map<string, string>();
  for (const team of teams) {
    const id = textIn(team, 'team_id');
    if (id === null) continue;
    const externalId = `litellm-team-${id}`;
    externalIds.set(id, externalId);
    const name = textIn(team, 'team_alias') ?? id;
    const cap = budgetOf(plan, name, team);
    const rpm = numberIn(team, 'rpm_limit');
    plan.accounts.push({
      externalId,
      name,
      credit: null,
      flags: [
        ...(cap === null ? [] : ['--credit-cap', `${cap.amount}/${cap.period}`]),
        ...(rpm === null || rpm < 1 ? [] : ['--rpm', String(rpm)]),
      ],
    });
  }
  for (const key of keys) takeKey(plan, key, externalIds);
  if (plan.keys.some(({ account }) => account === NO_TEAM)) {
    plan.accounts.push({ externalId: NO_TEAM, name: 'LiteLLM', credit: null, flags: [] });
  }
  if (plan.keys.length > 0) {
    plan.notes.push(
      'keys: their texts, which LiteLLM does not show; every client gets a new key, which "gateway import keys.csv" prints, unless you add the old text in a column "key"',
    );
    plan.notes.push('accounts: budgets became caps; credit has to be added to each with "gateway accounts credit"');
  }
}

function takeKey(plan: ImportPlan, key: Fields, teams: ReadonlyMap<string, string>): void {
  const label = textIn(key, 'key_alias') ?? textIn(key, 'key_name') ?? 'unnamed';
  if (key.blocked === true) {
    plan.notes.push(`key ${label}: it is blocked`);
    return;
  }
  const team = textIn(key, 'team_id');
  if (team !== null && !teams.has(team)) plan.notes.push(`key ${label}: its team ${team} is not in the file`);
  const cap = budgetOf(plan, `key ${label}`, key);
  const models = Array.isArray(key.models)
    ? key.models.filter((each): each is string => typeof each === 'string' && !/^all-(team|proxy)-models$/.test(each))
    : [];
  const limit = (name: string): string => String(Math.max(0, numberIn(key, name) ?? 0) || '');
  const entry: KeyEntry = {
    mode: 'credit',
    label,
    account: (team === null ? undefined : teams.get(team)) ?? NO_TEAM,
    cap: cap === null ? '' : String(cap.amount),
    period: cap?.period ?? '',
    rpm_limit: limit('rpm_limit'),
    tpm_limit: limit('tpm_limit'),
    parallel_limit: limit('max_parallel_requests'),
    models: models.join(' '),
    expires_at: textIn(key, 'expires') ?? '',
  };
  plan.keys.push(entry);
}

function budgetOf(plan: ImportPlan, whose: string, fields: Fields): { amount: number; period: string } | null {
  const amount = numberIn(fields, 'max_budget');
  if (amount === null) return null;
  const duration = textIn(fields, 'budget_duration');
  const period = duration === null ? 'none' : PERIODS[duration];
  if (period === undefined) plan.notes.push(`${whose}: a budget per ${duration} became one per month`);
  return { amount, period: period ?? 'month' };
}
