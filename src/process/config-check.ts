/** `gateway config check FILE`: whether a gateway could start with this file, and what it would serve. */
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { json as asJson, lines, type Output } from '../cli/output.ts';
import type { Config, Settings } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { modelReport, REPORT_HEADINGS, reportCells } from '../config/model-report.ts';
import { ConfigError } from '../config/problem.ts';
import type { Environment } from '../config/settings.ts';
import { readTls } from '../config/tls.ts';
import { table } from '../lib/text-table.ts';

/** The catalog of the sandbox does not depend on where it listens. */
const SANDBOX_URL = 'http://sandbox.invalid';

/** Nothing is opened or called: credentials are not tried, which is what `gateway doctor` does. */
export async function checkConfigFile(
  file: string,
  settings: Settings,
  env: Environment,
  json: boolean,
): Promise<Output> {
  const named: Settings = { ...settings, configFile: file, configFileNamed: true };
  try {
    const config = await loadConfig({ settings: named, env, sandboxUrl: SANDBOX_URL, allProblems: true });
    if (config.tls !== null) await readTls(config.tls);
    return inOrder(file, config, json);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const ids = await modelIdsIn(file);
    return inDisorder(
      file,
      error.problems.map((line) => withModelNames(line, ids)),
      json,
    );
  }
}

function inOrder(file: string, { catalog }: Config, json: boolean): Output {
  const models = modelReport(catalog.models.values());
  const providers = [...catalog.providers.keys()];
  if (json) return asJson({ ok: true, file, problems: [], providers, models });
  return lines([
    ...table([[...REPORT_HEADINGS], ...models.map(reportCells)]),
    '',
    `${file} is valid: ${models.length} models of ${providers.length} providers (${providers.join(', ')}).`,
  ]);
}

function inDisorder(file: string, problems: readonly string[], json: boolean): Output {
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
  const texts = [...problems, '', `${count}. Whatever depends on these is checked once they are corrected.`];
  return { ...(json ? asJson({ ok: false, file, problems }) : lines(texts)), exitCode: 1 };
}

/** `models[3].pricing` of a long file is easier to find by the name of the model. */
function withModelNames(line: string, ids: readonly unknown[]): string {
  return line.replace(/\bmodels\[(\d+)\]/, (place, index: string) => {
    const id = ids[Number(index)];
    return typeof id === 'string' ? `${place} (${id})` : place;
  });
}

/** None where the file cannot be read: that is a problem which is told already. */
async function modelIdsIn(file: string): Promise<readonly unknown[]> {
  try {
    const { models } = Object(parse(await readFile(file, 'utf8'), { maxAliasCount: 100 }));
    return Array.isArray(models) ? models.map((model) => Object(model).id) : [];
  } catch {
    return [];
  }
}
