/** What a serving thread says about its configuration and about how its providers do, for the operator. */

import type { ModelStateView, ProviderStateView, TargetStateView } from '../admin/state/schema.ts';
import type { Config } from '../config/config.ts';
import { modelReport } from '../config/model-report.ts';
import type { SettingInForce } from '../config/settings.ts';
import { fileInForce } from '../config/settings-view.ts';
import type { DefinitionState } from '../core/definition.ts';
import type { ModelPrices } from '../core/model.ts';
import { type Catalog, type Provider, withoutQuery } from '../core/provider.ts';
import { addedUp, type KeyShortfall } from '../observe/shortfalls.ts';
import type { CircuitState } from '../routing/circuit-breaker.ts';
import type { RoutingState } from '../routing/state.ts';

/** Plain data: it crosses threads. */
export interface Inspection {
  readonly models: readonly ModelStateView[];
  readonly providers: readonly ProviderStateView[];
  /** Of the config file, without secrets. */
  readonly settings: readonly SettingInForce[];
  readonly shortfalls: readonly KeyShortfall[];
  /** What has become of what operators have defined. */
  readonly definitions: readonly DefinitionState[];
}

/** No key has this id: what is asked with it is what counts for all of them. */
const ALL_KEYS = '';

export function inspect(config: Config, routing: RoutingState, shortfalls: readonly KeyShortfall[]): Inspection {
  const { catalog, definedBy } = config;
  return {
    models: modelStates(config),
    providers: [...catalog.providers.values()].map((provider) => ({
      ...providerState(provider, catalog, routing),
      defined_by: definedBy.provider.get(provider.name) ?? 'file',
    })),
    settings: fileInForce(config),
    definitions: config.stored.states,
    shortfalls,
  };
}

function modelStates({ catalog: { models }, definedBy }: Config): readonly ModelStateView[] {
  const rows = modelReport(models.values());
  return [...models.values()].map((model, index) => {
    const row = rows[index];
    if (row === undefined) throw new TypeError(`no report of ${model.id}`);
    return {
      ...row,
      defined_by: definedBy.model.get(model.id) ?? 'file',
      display_name: model.displayName ?? null,
      public: model.public,
      markup: markupOf(model),
      price_changes: model.priceChanges.map((change) => ({
        from: new Date(change.atMs).toISOString(),
        value: change.publishedPricing,
        markup: markupOf(change),
      })),
      capabilities: model.capabilities,
      targets: model.targets.map(({ provider, upstreamModel, format, weight }) => ({
        provider,
        upstream_model: upstreamModel,
        format,
        weight,
      })),
    };
  });
}

/** By the price of input in the first tier; a mark-up is one factor for all classes. */
function markupOf({ pricing, providerPricing }: ModelPrices): number | null {
  const charged = pricing.tiers[0].rates.input * providerPricing.per;
  const asked = providerPricing.tiers[0].rates.input * pricing.per;
  return asked === 0n ? null : Number((charged * 10_000n) / asked) / 10_000;
}

function providerState(
  provider: Provider,
  catalog: Catalog,
  routing: RoutingState,
): Omit<ProviderStateView, 'defined_by'> {
  const { name, kind, baseUrl, apiKeys, formats } = provider;
  const targets = new Map<string, TargetStateView>();
  for (const { id, targets: all } of catalog.models.values()) {
    for (const target of all) {
      if (target.provider !== name) continue;
      const known = targets.get(target.upstreamModel);
      const models = [...(known?.models ?? []), id];
      targets.set(target.upstreamModel, { ...targetState(target, routing), models });
    }
  }
  const states = [...targets.values()];
  const coolingMs = Math.round(routing.credentials.coolingMs(provider));
  return {
    name,
    kind,
    base_url: withoutQuery(baseUrl),
    formats,
    circuit_breaker: provider.circuitBreaker,
    credentials: apiKeys.length,
    credentials_cooling: routing.credentials.coolingKeys(provider),
    cooling_ms: coolingMs,
    credential_refused_at: isoTime(routing.credentials.refusedAtMs(provider)),
    health: healthOf(states, coolingMs),
    targets: states,
  };
}

function targetState(
  target: { readonly provider: string; readonly upstreamModel: string },
  { health }: RoutingState,
): Omit<TargetStateView, 'models'> {
  return {
    upstream_model: target.upstreamModel,
    circuit: health.circuit(target, ALL_KEYS),
    next_probe_in_ms: Math.round(health.dueInMs(target, ALL_KEYS)),
    keys_with_open_circuit: health.openKeys(target),
    cooling_ms: Math.round(health.coolingMs(target)),
    first_byte_ms: {
      streamed: rounded(health.latencyMs(target, true)),
      whole: rounded(health.latencyMs(target, false)),
    },
  };
}

function healthOf(targets: readonly TargetStateView[], coolingMs: number): ProviderStateView['health'] {
  const bad = targets.filter(({ circuit, cooling_ms }) => circuit !== 'closed' || cooling_ms > 0).length;
  if (coolingMs > 0 || (bad > 0 && bad === targets.length)) return 'down';
  return bad > 0 || targets.some(({ keys_with_open_circuit }) => keys_with_open_circuit > 0) ? 'degraded' : 'ok';
}

function isoTime(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms);
}

const BADNESS: Readonly<Record<CircuitState, number>> = { closed: 0, due: 1, open: 2 };
const HEALTHS = ['ok', 'degraded', 'down'] as const;

/** Workers judge for themselves: of each target, what the one says that thinks worst of it. */
export function worstOf(inspections: readonly Inspection[]): Inspection {
  const [first, ...others] = inspections;
  if (first === undefined) return { models: [], providers: [], settings: [], definitions: [], shortfalls: [] };
  const providers = first.providers.map((provider) => {
    const same = others.flatMap((other) => other.providers.find(({ name }) => name === provider.name) ?? []);
    return same.reduce(worse, provider);
  });
  return { ...first, providers, shortfalls: addedUp(inspections.map(({ shortfalls }) => shortfalls)) };
}

function worse(a: ProviderStateView, b: ProviderStateView): ProviderStateView {
  const targets = a.targets.map((target) => {
    const other = b.targets.find(({ upstream_model }) => upstream_model === target.upstream_model);
    if (other === undefined) return target;
    const badness = ({ circuit, cooling_ms }: TargetStateView): number => BADNESS[circuit] * 1e9 + cooling_ms;
    return badness(other) > badness(target) ? other : target;
  });
  const health = HEALTHS[Math.max(HEALTHS.indexOf(a.health), HEALTHS.indexOf(b.health))] ?? 'ok';
  return {
    ...a,
    targets,
    health,
    cooling_ms: Math.max(a.cooling_ms, b.cooling_ms),
    credentials_cooling: Math.max(a.credentials_cooling, b.credentials_cooling),
    credential_refused_at: latest(a.credential_refused_at, b.credential_refused_at),
  };
}

function latest(a: string | null, b: string | null): string | null {
  return (a ?? '') > (b ?? '') ? a : b;
}
