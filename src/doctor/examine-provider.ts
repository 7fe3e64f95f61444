/** Whether a provider can be reached, takes our credentials, has the models of its targets and answers for them. */
import type { Clock } from '../core/clock.ts';
import type { Format } from '../core/endpoints.ts';
import type { Model, Target } from '../core/model.ts';
import type { Provider } from '../core/provider.ts';
import { modelListOf } from '../provider/adapters.ts';
import type { Dispatchers } from '../provider/dispatchers.ts';
import type { Upstream } from '../provider/upstream.ts';
import { type Answered, fetchListing, type Listing, lists } from './listing.ts';
import { type ProbeResult, probe } from './probe.ts';
import { attention, type Check, ok, type ProbeReport, type ProviderReport, skipped } from './report.ts';
import { listed, saidBy } from './words.ts';

const SKEW_MS_MAX = 30_000;
/** A provider that was found in the environment has hundreds of models; each probe costs money. */
const PROBES_MAX = 20;

export interface Tools {
  readonly upstream: Upstream;
  readonly dispatchers: Dispatchers;
  readonly clock: Clock;
  /** For each call. */
  readonly timeoutMs: number;
  /** Whether to generate. */
  readonly probes: boolean;
}

/** A target together with the model that it serves. */
export interface Served {
  readonly model: Model;
  readonly target: Target;
}

export interface Examined {
  readonly report: ProviderReport;
  readonly toDo: readonly string[];
  /** Whether a request to this target can be expected to succeed. */
  serves(target: Target): boolean;
}

interface Probed extends ProbeResult {
  readonly target: Target;
}

export async function examineProvider(
  provider: Provider,
  served: readonly Served[],
  simulated: boolean,
  tools: Tools,
): Promise<Examined> {
  const keys = provider.apiKeys.length === 0 ? [null] : provider.apiKeys;
  const dispatcher = tools.dispatchers.of(provider.network, tools.timeoutMs);
  const modelLists = keys.map((key) => modelListOf(provider, key));
  const listings = await Promise.all(
    modelLists.flatMap((list) =>
      list ? [fetchListing(list.destination, dispatcher, tools.timeoutMs, () => tools.clock.nowMs())] : [],
    ),
  );
  const reached = reachable(listings);
  const usable = keys.find((_, index) => !isRefused(listings[index]));
  const probes =
    tools.probes && reached.state !== 'attention' && usable !== undefined
      ? await probeAll(provider, served, usable, tools)
      : [];
  const answers = listings.filter((listing) => listing.kind === 'answered');
  const ids = modelLists[0]?.listsTargets === true ? (answers.find((answer) => answer.ids)?.ids ?? null) : null;
  const report: ProviderReport = {
    name: provider.name,
    kind: provider.kind,
    base_url: provider.baseUrl,
    simulated,
    reachable: reached,
    authorised: authorised(provider, listings, probes),
    models: modelsOf(served, ids, probes),
    clock: clockOf(answers),
    probes: probes.map(reportOf),
  };
  return {
    report,
    toDo: toDoOf(report, listings, probes),
    serves: (target) => {
      const probed = probes.find((candidate) => isSame(candidate.target, target));
      if (probed) return probed.check.state === 'ok';
      return (
        reached.state !== 'attention' && usable !== undefined && !report.models.missing.includes(target.upstreamModel)
      );
    },
  };
}

function reachable(listings: readonly Listing[]): Check {
  const [first] = listings;
  if (first === undefined) return skipped('a package speaks to it');
  const answered = listings.find((listing) => listing.kind === 'answered');
  if (answered) return ok(`${Math.round(answered.tookMs)} ms`);
  return attention(first.kind === 'unreachable' ? first.reason : '');
}

function isRefused(listing: Listing | undefined): boolean {
  return listing?.kind === 'answered' && (listing.status === 401 || listing.status === 403);
}

function authorised(provider: Provider, listings: readonly Listing[], probes: readonly Probed[]): Check {
  const refused = listings.filter(isRefused);
  if (refused.length > 0) {
    const [first] = refused;
    const said = first?.kind === 'answered' ? `status ${first.status}: ${saidBy(provider, first.body)}` : '';
    return attention(`${refused.length} of ${listings.length} credentials refused (${said})`);
  }
  if (probes.some(({ status }) => status === 401 || status === 403)) return attention('refused by the probe');
  const free = provider.apiKeys.length === 0;
  if (listings.some((listing) => listing.kind === 'answered' && listing.status === 200)) {
    return ok(free ? 'needs no credential' : listings.length === 1 ? 'accepted' : `${listings.length} credentials`);
  }
  if (probes.some(({ check }) => check.state === 'ok')) return ok('accepted by the probe');
  const answered = listings.find((listing) => listing.kind === 'answered');
  if (!answered) return skipped('not asked');
  if (answered.status === 404 || answered.status === 405) return skipped('lists no models; only a probe can tell');
  return attention(`status ${answered.status} for the list of models: ${saidBy(provider, answered.body)}`);
}

function modelsOf(
  served: readonly Served[],
  ids: ReadonlySet<string> | null,
  probes: readonly Probed[],
): ProviderReport['models'] {
  const names = [...new Set(served.map(({ target }) => target.upstreamModel))];
  if (names.length === 0) return { ...skipped('no target here'), missing: [] };
  if (ids === null) return { ...skipped('not listed'), missing: [] };
  const answers = (name: string): boolean =>
    probes.some(({ target, check }) => target.upstreamModel === name && check.state === 'ok');
  const missing = names.filter((name) => !lists(ids, name) && !answers(name));
  const detail = `${names.length - missing.length} of ${names.length}`;
  return { ...(missing.length === 0 ? ok(detail) : attention(detail)), missing };
}

function clockOf(answers: readonly Answered[]): ProviderReport['clock'] {
  const skewMs = answers.find((answer) => answer.skewMs !== null)?.skewMs ?? null;
  if (skewMs === null) return { ...skipped('not told'), skew_ms: null };
  const detail = `${Math.round(Math.abs(skewMs) / 1000)} s`;
  return { ...(Math.abs(skewMs) > SKEW_MS_MAX ? attention(detail) : ok(detail)), skew_ms: Math.round(skewMs) };
}

/** Every target once, as far as there are not too many: then each format comes first. */
function probeAll(
  provider: Provider,
  served: readonly Served[],
  apiKey: string | null,
  tools: Tools,
): Promise<readonly Probed[]> {
  const distinct = served.filter(
    ({ target }, index) => served.findIndex((other) => isSame(other.target, target)) === index,
  );
  const seen = new Set<Format>();
  const firsts = distinct.filter(({ target }) => !seen.has(target.format) && seen.add(target.format));
  const chosen = [...firsts, ...distinct.filter((one) => !firsts.includes(one))].slice(0, PROBES_MAX);
  return Promise.all(
    chosen.map(async ({ model, target }) => {
      const { upstream, timeoutMs } = tools;
      return { target, ...(await probe({ upstream, provider, model, target, apiKey, timeoutMs })) };
    }),
  );
}

function isSame(a: Target, b: Target): boolean {
  return a.provider === b.provider && a.upstreamModel === b.upstreamModel && a.format === b.format;
}

function reportOf({ target, check, tookMs }: Probed): ProbeReport {
  return { model: target.upstreamModel, format: target.format, ...check, took_ms: tookMs };
}

function toDoOf(report: ProviderReport, listings: readonly Listing[], probes: readonly Probed[]): string[] {
  const { name, reachable, authorised, models, clock } = report;
  const lines: string[] = [];
  if (reachable.state === 'attention') {
    lines.push(
      `${name}: cannot be reached at ${report.base_url} (${reachable.detail}): check its base_url and the network`,
    );
  }
  if (authorised.state === 'attention') {
    const refused = listings.flatMap((listing, index) => (isRefused(listing) ? [index + 1] : []));
    const which = listings.length > 1 && refused.length > 0 ? `credential ${listed(refused.map(String))}` : 'api_key';
    lines.push(`${name}: ${authorised.detail}: check its ${which} and what that account may do`);
  }
  if (models.missing.length > 0) {
    lines.push(
      `${name}: does not list ${listed(models.missing)}: correct the model of these targets, or ask for access`,
    );
  }
  if (clock.state === 'attention') {
    const direction = (clock.skew_ms ?? 0) > 0 ? 'ahead of' : 'behind';
    lines.push(`${name}: our clock is ${clock.detail} ${direction} its own: synchronise this machine (NTP)`);
  }
  for (const { target, check, status } of probes) {
    if (check.state !== 'attention' || status === 401 || status === 403) continue;
    if (models.missing.includes(target.upstreamModel)) continue;
    lines.push(`${name}: ${target.upstreamModel} (${target.format}) does not answer: ${check.detail}`);
  }
  return lines;
}
