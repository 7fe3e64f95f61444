/** `gateway config check FILE`: whether a gateway could start with this file, and what it would serve. */
import { readFile } from 'node:fs/promises';
import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
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
    const written = await readWritten(file);
    const name = file.replace(/^\.\//, '');
    return inDisorder(
      file,
      error.problems.map((problem) => withPlace(problem, name, written)),
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

/** A file as it was written, for the place of what is wrong in it. */
interface Written {
  /** Of what the path names, or of what it would be in; null where nothing of it is there. */
  line(keys: readonly (string | number)[]): number | null;
  /** The id of the model in this place. */
  modelId(index: number): unknown;
}

/** `FILE: models[3].pricing: …` as `FILE:12: models[3] (openai/gpt-5).pricing: …`, by which a long file is easier to search. */
function withPlace(problem: string, file: string, written: Written | null): string {
  const start = `${file}: `;
  if (written === null || !problem.startsWith(start)) return problem;
  const rest = problem.slice(start.length);
  const [path = ''] = PATH.exec(rest) ?? [];
  if (path === '') return problem;
  const [, missing] = /^: (?:unknown key )?`([^`]+)`/.exec(rest.slice(path.length)) ?? [];
  const keys = keysOf(path);
  const line = (missing === undefined ? null : written.line([...keys, missing])) ?? written.line(keys);
  const named = rest.replace(/^models\[(\d+)\]/, (place, index: string) => {
    const id = written.modelId(Number(index));
    return typeof id === 'string' ? `${place} (${id})` : place;
  });
  return `${line === null ? start : `${file}:${line}: `}${named}`;
}

/** As `joinPath` writes it, up to the colon. */
const PATH = /^(?:[A-Za-z_][\w-]*|\["(?:[^"\\]|\\.)*"\])(?:\.[A-Za-z_][\w-]*|\[\d+\]|\["(?:[^"\\]|\\.)*"\])*(?=: )/;
const KEY = /\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|([A-Za-z_][\w-]*)/g;

function keysOf(path: string): readonly (string | number)[] {
  return [...path.matchAll(KEY)].map(([, index, quoted, word = '']) => {
    if (index !== undefined) return Number(index);
    return quoted === undefined ? word : (JSON.parse(quoted) as string);
  });
}

/** Null where the file cannot be read: that is a problem which is told already. */
async function readWritten(file: string): Promise<Written | null> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch {
    return null;
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  return {
    line: (keys) => {
      for (let depth = keys.length; depth > 0; depth--) {
        const at = positionOf(document, keys.slice(0, depth));
        if (at !== null) return lines.linePos(at).line;
      }
      return null;
    },
    modelId: (index) => document.getIn(['models', index, 'id']),
  };
}

/** Of the key, where there is one: its value may begin on a later line. */
function positionOf(document: Document, keys: readonly (string | number)[]): number | null {
  const parent = keys.length === 1 ? document.contents : document.getIn(keys.slice(0, -1), true);
  const last = keys.at(-1);
  if (isMap(parent)) {
    const pair = parent.items.find(({ key }) => isScalar(key) && String(key.value) === String(last));
    return isScalar(pair?.key) ? (pair.key.range?.[0] ?? null) : null;
  }
  if (!isSeq(parent)) return null;
  const item = parent.items[Number(last)];
  return isNode(item) ? (item.range?.[0] ?? null) : null;
}
