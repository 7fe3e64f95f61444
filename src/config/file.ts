/** Reads the config file: bounded YAML, references expanded, checked against the schema. */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { type Document, LineCounter, parseDocument, visit } from 'yaml';
import { describeErrors, readablePath, type TypeNames } from '../lib/schema-errors.ts';
import { expandReferences } from './expand.ts';
import { didYouMean } from './nearest-name.ts';
import { configError, type Problem } from './problem.ts';
import { insteadOfKey } from './removed.ts';
import { FILE_BYTES_MAX, type FileConfig, FileSchema } from './schema.ts';
import type { Secrets } from './secrets.ts';

const ALIASES_MAX = 100;
/** A file with more problems than this lists the first ones only. */
const PROBLEMS_MAX = 20;

let compiled: ValidateFunction<FileConfig> | null = null;

/** Compiled when the first file is read, so that a start without one does not pay for it. A test validates the schema. */
function validator(): ValidateFunction<FileConfig> {
  if (compiled !== null) return compiled;
  const ajv = new Ajv({ allErrors: true, verbose: true, strict: true, meta: false, validateSchema: false });
  ajv.addVocabulary(['patternErrorMessage', 'typeErrorMessage']);
  compiled = ajv.compile<FileConfig>(FileSchema);
  return compiled;
}

/**
 * `name` is the file's name in messages. Null: the file has no content, or only comments. Throws a ConfigError that lists
 * every problem found.
 */
export async function parseConfigFile(
  text: string,
  name: string,
  secrets: Secrets,
  allProblems = false,
): Promise<FileConfig | null> {
  const most = allProblems ? Number.POSITIVE_INFINITY : PROBLEMS_MAX;
  const { value, problems } = await expandReferences(parseYaml(text, name), secrets);
  if (problems.length > 0) throw configError(name, problems.slice(0, most));
  if (value === null) return null;
  const checked = checkShape(value);
  if ('file' in checked) return checked.file;
  throw configError(name, checked.problems.slice(0, most));
}

/** Whether what is written, with its references expanded, has the shape of a config file. */
export function checkShape(content: unknown): { readonly file: FileConfig } | { readonly problems: Problem[] } {
  const validate = validator();
  return validate(content) ? { file: content } : { problems: problemsOf(validate.errors ?? [], content) };
}

function parseYaml(text: string, name: string): unknown {
  if (Buffer.byteLength(text) > FILE_BYTES_MAX) {
    throw configError(name, [{ path: '', message: `is larger than ${FILE_BYTES_MAX} bytes` }]);
  }
  const lines = new LineCounter();
  try {
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
    const error = document.errors[0] ?? aliasInsideItself(document);
    if (error === null) return document.toJS({ maxAliasCount: ALIASES_MAX });
    const { line, col } = lines.linePos(error.pos[0]);
    const message = unquotedReference(text, error.pos[0]) ?? error.message;
    throw configError(name, [{ path: '', message: `line ${line}, column ${col}: ${message}` }]);
  } catch (error) {
    if (error instanceof Error && error.name === 'ConfigError') throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw configError(name, [{ path: '', message: `cannot be read as YAML: ${reason}` }]);
  }
}

/** An alias below its own anchor: what it stands for would never end. Null where there is none. */
function aliasInsideItself(document: Document): { readonly pos: readonly [number]; readonly message: string } | null {
  let found: ReturnType<typeof aliasInsideItself> = null;
  visit(document, {
    Alias(_, alias, ancestors) {
      const named = alias.resolve(document);
      if (named === undefined || !ancestors.includes(named)) return undefined;
      const message = `the alias *${alias.source} stands inside of what its anchor &${alias.source} names, so it would never end`;
      found = { pos: [alias.range?.[0] ?? 0], message };
      return visit.BREAK;
    },
  });
  return found;
}

/** What to do where the braces of a reference were read as those of a mapping: `{ api_key: ${NAME} }`. Null elsewhere. */
function unquotedReference(text: string, at: number): string | null {
  const [reference] = /^\$\{[^}\n]*\}/.exec(text.slice(Math.max(0, at - 1))) ?? [];
  if (reference === undefined) return null;
  return `quote it: "${reference}", because inside of { } and [ ] an unquoted { begins a mapping`;
}

function problemsOf(errors: readonly ErrorObject[], content: unknown): Problem[] {
  const unique = new Map<string, Problem>();
  for (const error of errors) {
    const problem = { path: readablePath(error.instancePath, content), message: messageOf(error) };
    unique.set(`${problem.path}\n${problem.message}`, problem);
  }
  return [...unique.values()];
}

/** What an author of YAML calls the types. */
const YAML_TYPES: TypeNames = {
  object: 'a mapping (key: value)',
  array: 'a list',
  string: 'a string',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
};

function messageOf(error: ErrorObject): string {
  switch (error.keyword) {
    case 'additionalProperties':
      return unknownKey(String(error.params.additionalProperty), error.parentSchema);
    case 'required':
      return `the key \`${String(error.params.missingProperty)}\` is missing`;
    case 'type':
      if (typeof error.parentSchema?.typeErrorMessage === 'string') return error.parentSchema.typeErrorMessage;
      if (isDuration(error)) return DURATION;
      return describeErrors([error], YAML_TYPES);
    case 'minProperties':
      return error.parentSchema?.properties?.from === undefined
        ? 'must give at least one price besides from_input_tokens'
        : 'must give pricing or markup besides from';
    default:
      return describeErrors([error], YAML_TYPES);
  }
}

const DURATION =
  'must be a number without a unit: seconds, as a number (30, not 30s), unless the key names another unit';

function isDuration({ data, params }: ErrorObject): boolean {
  const wantsNumber = params.type === 'number' || params.type === 'integer';
  return (
    wantsNumber &&
    typeof data === 'string' &&
    /^\d+(\.\d+)? ?(ms|s|m|h|d|sec|seconds?|min|minutes?|hours?|days?)$/.test(data)
  );
}

function unknownKey(key: string, schema: ErrorObject['parentSchema']): string {
  const instead = insteadOfKey(key);
  if (instead !== undefined) return `unknown key \`${key}\`: ${instead}`;
  const properties: unknown = schema?.properties;
  if (typeof properties === 'object' && properties !== null) {
    const known = Object.keys(properties).filter((name) => name !== '$schema');
    return `unknown key \`${key}\`${didYouMean(key, known) || ` (known: ${known.join(', ')})`}`;
  }
  return `\`${key}\` cannot be a name here: letters, digits, dots, dashes and underscores only`;
}
