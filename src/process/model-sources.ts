/** `gateway models`: the configured catalog with the source of every figure, whether a gateway runs or not. */
import type { AdminConnection } from '../admin/client.ts';
import { AdminError } from '../admin/error.ts';
import type { Settings } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { decodeModelLists, type ModelLists, NO_LISTS } from '../config/model-lists.ts';
import { modelReport, REPORT_HEADINGS, reportCells } from '../config/model-report.ts';
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
  const config = await loadConfig({ settings, env, sandboxUrl: SANDBOX_URL, lists: await storedLists(options) });
  const rows = modelReport(config.catalog.models.values());
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

/** None where there is no store yet, or it does not answer: published figures count then. */
async function storedLists({ connectAdmin }: ModelSourcesOptions): Promise<ModelLists> {
  try {
    const connection = await connectAdmin();
    try {
      return decodeModelLists((await connection.api.call('modelLists', {})).document);
    } finally {
      await connection.close();
    }
  } catch (error) {
    if (error instanceof AdminError) return NO_LISTS;
    throw error;
  }
}
