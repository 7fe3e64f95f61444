/** `gateway models`: the configured catalog with the source of every figure, whether a gateway runs or not. */
import type { AdminConnection } from '../admin/client.ts';
import { AdminError } from '../admin/error.ts';
import type { ModelStateView } from '../admin/state/schema.ts';
import type { Settings } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { decodeModelLists, type ModelLists, NO_LISTS } from '../config/model-lists.ts';
import { type ModelReportRow, modelReport, REPORT_HEADINGS, reportCells } from '../config/model-report.ts';
import type { Environment } from '../config/settings.ts';
import { table } from '../lib/text-table.ts';

export interface ModelSourcesOptions {
  readonly settings: Settings;
  readonly env: Environment;
  connectAdmin(): Promise<AdminConnection>;
}

/** The catalog of the sandbox does not depend on where it listens. */
const SANDBOX_URL = 'http://sandbox.invalid';

export async function listModelSources(options: ModelSourcesOptions, json: boolean): Promise<string> {
  const { settings, env } = options;
  const { lists, defined } = await fromStore(options);
  const config = await loadConfig({ settings, env, sandboxUrl: SANDBOX_URL, lists });
  const own = modelReport(config.catalog.models.values());
  const rows = [...own.filter(({ id }) => !defined.some((row) => row.id === id)), ...defined];
  if (json) return `${JSON.stringify(rows)}\n`;
  const guessed = rows.filter(({ max_output_tokens }) => max_output_tokens.source === 'assumed').length;
  const unknown = rows.filter(({ context_window }) => context_window.value === null).length;
  const summary = [
    `${rows.length} models.`,
    ...(guessed === 0 ? [] : [`${guessed} have a guessed output limit.`]),
    ...(unknown === 0 ? [] : [`${unknown} have an unknown context window.`]),
  ];
  return `${[...table([[...REPORT_HEADINGS], ...rows.map(reportCells)]), '', summary.join(' ')].join('\n')}\n`;
}

/** The lists of providers, and the models that a running gateway has from operators. */
interface FromStore {
  readonly lists: ModelLists;
  readonly defined: readonly ModelReportRow[];
}

/** Nothing where there is no store yet, or it does not answer: published figures count then. */
async function fromStore({ connectAdmin }: ModelSourcesOptions): Promise<FromStore> {
  try {
    const { api, isRunning, close } = await connectAdmin();
    try {
      const lists = decodeModelLists((await api.call('modelLists', {})).document);
      const models = isRunning ? (await api.call('models', {})).data : [];
      return { lists, defined: models.filter(({ defined_by }) => defined_by === 'api').map(reportRow) };
    } finally {
      await close();
    }
  } catch (error) {
    if (error instanceof AdminError) return { lists: NO_LISTS, defined: [] };
    throw error;
  }
}

function reportRow(model: ModelStateView): ModelReportRow {
  const { id, provider, alias_of, pattern, resolves_to, defaults, price, context_window, max_output_tokens } = model;
  return { id, provider, alias_of, pattern, resolves_to, defaults, price, context_window, max_output_tokens };
}
