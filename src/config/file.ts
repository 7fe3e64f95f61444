/** Reads the config file: bounded YAML, environment variables expanded, checked against the schema. */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { LineCounter, parseDocument } from 'yaml';
import { expandEnvironment } from './expand.ts';
import { didYouMean } from './nearest-name.ts';
import { configError, joinPath, type Problem } from './problem.ts';
import { FILE_BYTES_MAX, type FileConfig, FileSchema } from './schema.ts';
import type { Environment } from './settings.ts';

const ALIASES_MAX = 100;
/** A file that is wrong all over is told so, but not at any length. */
const PROBLEMS_MAX = 20;

let compiled: ValidateFunction<FileConfig> | null = null;

/** Compiled when the first file is read: a start without one does not pay for it. The schema itself is tested. */
function validator(): ValidateFunction<FileConfig> {
  if (compiled !== null) return compiled;
  const ajv = new Ajv({ allErrors: true, verbose: true, strict: true, meta: false, validateSchema: false });
  ajv.addVocabulary(['patternErrorMessage', 'typeErrorMessage']);
  compiled = ajv.compile<FileConfig>(FileSchema);
  return compiled;
}

/** `name` is what the problems call the file. Throws a ConfigError that lists every problem found. */
export function parseConfigFile(text: string, name: string, env: Environment): FileConfig {
  const { value, problems } = expandEnvironment(parseYaml(text, name), env);
  if (problems.length > 0) throw configError(name, problems.slice(0, PROBLEMS_MAX));
  const content = value ?? {};
  const validate = validator();
  if (validate(content)) return content;
  throw configError(name, problemsOf(validate.errors ?? [], content));
}

function parseYaml(text: string, name: string): unknown {
  if (Buffer.byteLength(text) > FILE_BYTES_MAX) {
    throw configError(name, [{ path: '', message: `is larger than ${FILE_BYTES_MAX} bytes` }]);
  }
  const lines = new LineCounter();
  try {
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
    const [error] = document.errors;
    if (error === undefined) return document.toJS({ maxAliasCount: ALIASES_MAX });
    const { line, col } = lines.linePos(error.pos[0]);
    throw configError(name, [{ path: '', message: `line ${line}, column ${col}: ${error.message}` }]);
  } catch (error) {
    if (error instanceof Error && error.name === 'ConfigError') throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw configError(name, [{ path: '', message: `cannot be read as YAML: ${reason}` }]);
  }
}

function problemsOf(errors: readonly ErrorObject[], content: unknown): Problem[] {
  const unique = new Map<string, Problem>();
  for (const error of errors) {
    const problem = { path: dottedPath(error.instancePath, content), message: messageOf(error) };
    unique.set(`${problem.path}\n${problem.message}`, problem);
  }
  return [...unique.values()].slice(0, PROBLEMS_MAX);
}

/** `models[0].id` from the JSON pointer `/models/0/id` into this content. */
function dottedPath(pointer: string, content: unknown): string {
  let path = '';
  let value = content;
  for (const escaped of pointer.split('/').slice(1)) {
    const key = escaped.replaceAll('~1', '/').replaceAll('~0', '~');
    path = joinPath(path, Array.isArray(value) ? Number(key) : key);
    value = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
  }
  return path;
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  object: 'a mapping (key: value)',
  array: 'a list',
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
};

/** Never shows the value: it may be a secret. */
function messageOf(error: ErrorObject): string {
  const { keyword, params, parentSchema } = error;
  switch (keyword) {
    case 'additionalProperties':
      return unknownKey(String(params.additionalProperty), parentSchema);
    case 'required':
      return `the key \`${String(params.missingProperty)}\` is missing`;
    case 'type':
      if (typeof parentSchema?.typeErrorMessage === 'string') return parentSchema.typeErrorMessage;
      return `must be ${TYPE_NAMES[String(params.type)] ?? String(params.type)}`;
    case 'enum':
      return `must be one of ${(params.allowedValues as unknown[]).join(', ')}`;
    case 'pattern':
      return String(parentSchema?.patternErrorMessage ?? error.message);
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
      return rangeMessage(parentSchema);
    case 'minItems':
      return `must have at least ${String(params.limit)} item`;
    case 'uniqueItems':
      return `must not repeat an item (items ${String(params.i)} and ${String(params.j)} are equal)`;
    case 'minProperties':
      return 'must give at least one price besides from_input_tokens';
    case 'minLength':
      return 'must not be empty';
    default:
      return error.message ?? `is not allowed (${keyword})`;
  }
}

function rangeMessage(schema: ErrorObject['parentSchema']): string {
  const kind = TYPE_NAMES[String(schema?.type)] ?? 'a number';
  const above = schema?.exclusiveMinimum;
  const from = above === undefined ? `from ${String(schema?.minimum)}` : `above ${String(above)}`;
  const to = above === undefined ? `to ${String(schema?.maximum)}` : `and at most ${String(schema?.maximum)}`;
  return `must be ${kind} ${from} ${to}`;
}

/** Keys of earlier releases, with what to write today. */
const REPLACED_KEYS: ReadonlyMap<string, string> = new Map([
  ['service_tiers', 'multipliers: { service_tier: { priority: 1.75 } }'],
]);

function unknownKey(key: string, schema: ErrorObject['parentSchema']): string {
  const replacement = REPLACED_KEYS.get(key);
  if (replacement !== undefined) return `unknown key \`${key}\`: say what it costs, e.g. ${replacement}`;
  const properties: unknown = schema?.properties;
  if (typeof properties === 'object' && properties !== null) {
    const known = Object.keys(properties).filter((name) => name !== '$schema');
    return `unknown key \`${key}\`${didYouMean(key, known) || ` (known: ${known.join(', ')})`}`;
  }
  return `\`${key}\` cannot be a name here: letters, digits, dots, dashes and underscores only`;
}
