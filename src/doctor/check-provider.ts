/** Whether a provider can be reached, accepts our credentials, has the models of its targets and answers for them. */
import type { Clock } from '../core/clock.ts';
import type { Format } from '../core/endpoints.ts';
import type { Model, Target } from '../core/model.ts';
import { type Provider, withoutQuery } from '../core/provider.ts';
import { modelListOf } from '../provider/adapters.ts';
import type { Dispatchers } from '../provider/dispatchers.ts';
import { type Answered, fetchModelList, includesModel, type ModelListResult } from '../provider/fetch-model-list.ts';
import type { Upstream } from '../provider/upstream.ts';
import { joinNames, providerMessage } from './format.ts';
import { type ProbeResult, probe } from './probe.ts';
import { type Check, ok, type ProbeReport, type ProviderReport, problem, skipped } from './report.ts';

const SKEW_MS_MAX = 30_000;
/** A provider that was discovered from the environment has hundreds of models, and each probe costs money. */
const PROBES_MAX = 20;

export interface CheckContext {
  readonly upstream: Upstream;
  readonly dispatchers: Dispatchers;
  readonly clock: Clock;
  /** For each call. */
  readonly timeoutMs: number;
  /** Whether to generate. */
  readonly probes: boolean;
}

/** A target together with the model that it serves. */
export interface ServedTarget {
  readonly model: Model;
  readonly target: Target;
}

export interface CheckedProvider {
  readonly report: ProviderReport;
  readonly toDo: readonly string[];
  /** Whether a request to this target can be expected to succeed. */
  serves(target: Target): boolean;
}

interface Probed extends ProbeResult {
  readonly target: Target;
}

export async function checkProvider(
  provider: Provider,
  served: readonly ServedTarget[],
  simulated: boolean,
  context: CheckContext,
): Promise<CheckedProvider> {
  const keys = provider.apiKeys.length === 0 ? [null] : provider.apiKeys;
  const dispatcher = context.dispatchers.of(provider.network, context.timeoutMs);
  const calls = keys.map((key) => modelListOf(provider, key));
  const lists = await Promise.all(
    calls.flatMap((call) =>
      call ? [fetchModelList(call.destination, dispatcher, context.timeoutMs, () => context.clock.nowMs())] : [],
    ),
  );
  const reached = reachable(lists);
  const usable = keys.find((_, index) => !isRefused(lists[index]));
  const probes =
    context.probes && reached.state !== 'problem' && usable !== undefined
      ? await probeAll(provider, served, usable, context)
      : [];
  const answers = lists.filter((list) => list.kind === 'answered');
  const ids = calls[0]?.listsTargets === true ? (answers.find((answer) => answer.ids)?.ids ?? null) : null;
  const report: ProviderReport = {
    name: provider.name,
    kind: provider.kind,
    base_url: withoutQuery(provider.baseUrl),
    simulated,
    reachable: reached,
    authorised: authorised(provider, lists, probes),
    models: modelsOf(served, ids, probes),
    clock: clockOf(answers),
    probes: probes.map(reportOf),
  };
  return {
    report,
    toDo: toDoOf(report, lists, probes),
    serves: (target) => {
      const probed = probes.find((candidate) => isSame(candidate.target, target));
      if (probed) return probed.check.state === 'ok';
      return (
        reached.state !== 'problem' && usable !== undefined && !report.models.missing.includes(target.upstreamModel)
      );
    },
  };
}

function reachable(lists: readonly ModelListResult[]): Check {
  const [first] = lists;
  if (first === undefined) return skipped('called through a package');
  const answered = lists.find((list) => list.kind === 'answered');
  if (answered) return ok(`${Math.round(answered.tookMs)} ms`);
  return problem(first.kind === 'unreachable' ? first.reason : '');
}

function isRefused(list: ModelListResult | undefined): boolean {
  return list?.kind === 'answered' && (list.status === 401 || list.status === 403);
}

function authorised(provider: Provider, lists: readonly ModelListResult[], probes: readonly Probed[]): Check {
  const refused = lists.filter(isRefused);
  if (refused.length > 0) {
    const [first] = refused;
    const said = first?.kind === 'answered' ? `status ${first.status}: ${providerMessage(provider, first.body)}` : '';
    return problem(`${refused.length} of ${lists.length} credentials refused (${said})`);
  }
  if (probes.some(({ status }) => status === 401 || status === 403)) return problem('refused by the probe');
  const free = provider.apiKeys.length === 0;
  if (lists.some((list) => list.kind === 'answered' && list.status === 200)) {
    return ok(free ? 'needs no credential' : lists.length === 1 ? 'accepted' : `${lists.length} credentials`);
  }
  if (probes.some(({ check }) => check.state === 'ok')) return ok('accepted by the probe');
  const answered = lists.find((list) => list.kind === 'answered');
  if (!answered) return skipped('not checked');
  if (answered.status === 404 || answered.status === 405) return skipped('has no model list; only a probe can tell');
  return problem(`status ${answered.status} for the list of models: ${providerMessage(provider, answered.body)}`);
}

function modelsOf(
  served: readonly ServedTarget[],
  ids: ReadonlySet<string> | null,
  probes: readonly Probed[],
): ProviderReport['models'] {
  const names = [...new Set(served.map(({ target }) => target.upstreamModel))];
  if (names.length === 0) return { ...skipped('no targets'), missing: [] };
  if (ids === null) return { ...skipped('has no model list'), missing: [] };
  const answers = (name: string): boolean =>
    probes.some(({ target, check }) => target.upstreamModel === name && check.state === 'ok');
  const missing = names.filter((name) => !includesModel(ids, name) && !answers(name));
  const detail = `${names.length - missing.length} of ${names.length}`;
  return { ...(missing.length === 0 ? ok(detail) : problem(detail)), missing };
}

function clockOf(answers: readonly Answered[]): ProviderReport['clock'] {
  const skewMs = answers.find((answer) => answer.skewMs !== null)?.skewMs ?? null;
  if (skewMs === null) return { ...skipped('not reported'), skew_ms: null };
  const detail = `${Math.round(Math.abs(skewMs) / 1000)} s`;
  return { ...(Math.abs(skewMs) > SKEW_MS_MAX ? problem(detail) : ok(detail)), skew_ms: Math.round(skewMs) };
}

/** Every target once; where there are too many, one of each format comes first. */
function probeAll(
  provider: Provider,
  served: readonly ServedTarget[],
  apiKey: string | null,
  context: CheckContext,
): Promise<readonly Probed[]> {
  const distinct = served.filter(
    ({ target }, index) => served.findIndex((other) => isSame(other.target, target)) === index,
  );
  const seen = new Set<Format>();
  const firsts = distinct.filter(({ target }) => !seen.has(target.format) && seen.add(target.format));
  const chosen = [...firsts, ...distinct.filter((one) => !firsts.includes(one))].slice(0, PROBES_MAX);
  return Promise.all(
    chosen.map(async ({ model, target }) => {
      const { upstream, timeoutMs } = context;
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

function toDoOf(report: ProviderReport, lists: readonly ModelListResult[], probes: readonly Probed[]): string[] {
  const { name, reachable, authorised, models, clock } = report;
  const lines: string[] = [];
  if (reachable.state === 'problem') {
    lines.push(
      `${name}: cannot be reached at ${report.base_url} (${reachable.detail}): check its base_url and the network`,
    );
  }
  if (authorised.state === 'problem') {
    const refused = lists.flatMap((list, index) => (isRefused(list) ? [index + 1] : []));
    const which = lists.length > 1 && refused.length > 0 ? `credential ${joinNames(refused.map(String))}` : 'api_key';
    lines.push(`${name}: ${authorised.detail}: check its ${which} and the permissions of that account`);
  }
  if (models.missing.length > 0) {
    lines.push(
      `${name}: does not list ${joinNames(models.missing)}: correct the model of these targets, or request access`,
    );
  }
  if (clock.state === 'problem') {
    const direction = (clock.skew_ms ?? 0) > 0 ? 'ahead of' : 'behind';
    lines.push(`${name}: our clock is ${clock.detail} ${direction} its own: synchronise this machine (NTP)`);
  }
  for (const { target, check, status } of probes) {
    if (check.state !== 'problem' || status === 401 || status === 403) continue;
    if (models.missing.includes(target.upstreamModel)) continue;
    lines.push(`${name}: ${target.upstreamModel} (${target.format}) does not answer: ${check.detail}`);
  }
  return lines;
}
