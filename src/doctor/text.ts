/** The report as text: tables, then what to do. */
import { table } from '../lib/text-table.ts';
import type { Check, ModelReport, ProviderReport, Report } from './report.ts';

/** A longer catalog is shown with its models that have problems only, and no more than this many of them. */
const MODEL_ROWS_MAX = 40;
const MARK: Readonly<Record<Check['state'], string>> = { ok: 'ok', problem: '!!', skipped: '--' };

export function reportText(report: Report): string {
  const { config, data_folder, store, open_files, certificates, providers, models, to_do } = report;
  const parts = [
    table([
      ['Config file', cell(config)],
      ['Data folder', cell(data_folder)],
      ['Store', cell(store)],
      ['Open files', cell(open_files)],
      ['Certificates', cell(certificates)],
    ]),
    ...(providers.length === 0 ? [] : [table([PROVIDER_HEAD, ...providers.map(providerRow)])]),
    ...(models.length === 0 ? [] : [modelTable(models)]),
    to_do.length === 0 ? ['No problems found.'] : ['What to do:', ...to_do.map((line) => `  - ${line}`)],
  ];
  return `${parts.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

const PROVIDER_HEAD = ['PROVIDER', 'REACHABLE', 'AUTHORISED', 'MODELS', 'PROBES', 'CLOCK'];

function providerRow({ name, simulated, reachable, authorised, models, probes, clock }: ProviderReport): string[] {
  const answered = probes.filter(({ state }) => state === 'ok').length;
  const probed: Check =
    probes.length === 0
      ? { state: 'skipped', detail: 'not run' }
      : { state: answered === probes.length ? 'ok' : 'problem', detail: `${answered} of ${probes.length}` };
  const short = authorised.state === 'problem' ? { ...authorised, detail: 'see below' } : authorised;
  return [`${name}${simulated ? ' (simulated)' : ''}`, ...[reachable, short, models, probed, clock].map(cell)];
}

function modelTable(models: readonly ModelReport[]): string[] {
  const problems = models.filter((model) => [model.priced, model.limits, model.targets].some(hasProblem));
  const rows = models.length <= MODEL_ROWS_MAX ? models : problems.slice(0, MODEL_ROWS_MAX);
  const rest = models.length - rows.length;
  return [
    ...table([
      ['MODEL', 'PRICE IN / OUT', 'WINDOW / OUTPUT', 'WORKING TARGETS'],
      ...rows.map(({ id, priced, limits, targets }) => [id, cell(priced), cell(limits), cell(targets)]),
    ]),
    ...(rest === 0
      ? []
      : [
          `and ${rest} more, of which ${problems.length - rows.filter((row) => problems.includes(row)).length} have problems (--json lists all)`,
        ]),
  ];
}

function hasProblem({ state }: Check): boolean {
  return state === 'problem';
}

function cell({ state, detail }: Check): string {
  return detail === '' ? MARK[state] : `${MARK[state]} ${detail}`;
}
