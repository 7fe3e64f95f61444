/** The command line, read strictly: an unknown word or flag is refused with the list of known ones. */
import { parseArgs } from 'node:util';

/** Ends the command with exit code 2 and this one line. */
export class UsageError extends Error {
  override name = 'UsageError';
}

export interface CommandShape {
  /** The words after `gateway`. */
  readonly words: readonly string[];
  readonly operands: readonly string[];
  /** Flags that take a value, by name, with the placeholder that the help shows. */
  readonly flags: Readonly<Record<string, string>>;
  readonly switches: readonly string[];
  readonly summary: string;
  /** Without `gateway`. A test reads each of them as the command line is read. */
  readonly examples: readonly string[];
}

/** A command as its row says it: what it does not take is left out, and every one has `--json` unless it says otherwise. */
export type ShapeRow = Pick<CommandShape, 'words' | 'summary' | 'examples'> & Partial<CommandShape>;

export function shape(row: ShapeRow): CommandShape {
  return { operands: [], flags: {}, switches: ['json'], ...row };
}

export interface CommandArguments {
  readonly operands: readonly string[];
  readonly flags: Readonly<Record<string, string>>;
  readonly switches: ReadonlySet<string>;
}

/** The command whose words the line begins with. */
export function findCommand<C extends CommandShape>(commands: readonly C[], line: readonly string[]): C {
  const fitting = commands.filter(({ words }) => words.every((word, index) => line[index] === word));
  // `models test` is not `models`.
  const [found] = fitting.toSorted((a, b) => b.words.length - a.words.length);
  if (found !== undefined) return found;
  const [first = '', second] = line;
  const siblings = commands.filter(({ words }) => words.length > 1 && words[0] === first);
  if (siblings.length > 0) {
    const allowed = siblings.map(({ words }) => words[1]).join(', ');
    const what = second === undefined ? `${first} needs a second word` : `unknown command "${first} ${second}"`;
    throw new UsageError(`${what}: expected one of ${allowed}`);
  }
  const allowed = [...new Set(commands.map(({ words }) => words[0]))].join(', ');
  throw new UsageError(`unknown command ${JSON.stringify(first)}: expected one of ${allowed}, help, --version`);
}

export function readArguments(command: CommandShape, line: readonly string[]): CommandArguments {
  const name = command.words.join(' ');
  const known = [...Object.keys(command.flags), ...command.switches];
  const { tokens } = parseArgs({
    args: line.slice(command.words.length),
    options: {
      ...Object.fromEntries(Object.keys(command.flags).map((flag) => [flag, { type: 'string' as const }])),
      ...Object.fromEntries(command.switches.map((flag) => [flag, { type: 'boolean' as const }])),
    },
    strict: false,
    tokens: true,
  });
  const flags: Record<string, string> = Object.create(null);
  const switches = new Set<string>();
  const operands: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') operands.push(token.value);
    if (token.kind !== 'option') continue;
    if (!known.includes(token.name) || !token.rawName.startsWith('--')) {
      const allowed =
        known.length === 0 ? 'it has no flags' : `expected one of ${known.map((flag) => `--${flag}`).join(', ')}`;
      throw new UsageError(`${name}: unknown flag ${token.rawName}: ${allowed}`);
    }
    if (token.name in flags || switches.has(token.name))
      throw new UsageError(`${name}: ${token.rawName} is given twice`);
    if (command.switches.includes(token.name)) {
      if (token.value !== undefined) throw new UsageError(`${name}: ${token.rawName} takes no value`);
      switches.add(token.name);
    } else {
      // `--label --json` is a label that was forgotten; `--label=--json` is one that was meant.
      if (token.value === undefined || (token.value.startsWith('--') && !token.inlineValue)) {
        throw new UsageError(`${name}: ${token.rawName} needs a value: ${command.flags[token.name]}`);
      }
      flags[token.name] = token.value;
    }
  }
  if (operands.length !== command.operands.length) {
    throw new UsageError(`${name} takes ${countOf(command.operands)}, not ${operands.length}: ${usageLine(command)}`);
  }
  return { operands, flags, switches };
}

/** Of `--if-version`. */
export function versionGiven({ 'if-version': given }: CommandArguments['flags']): number | undefined {
  if (given === undefined || /^[0-9]{1,15}$/.test(given)) return given === undefined ? undefined : Number(given);
  throw new UsageError(`--if-version is ${JSON.stringify(given)}: must be the version that "show --json" prints`);
}

export function usageLine(command: CommandShape): string {
  return [
    'gateway',
    ...command.words,
    ...command.operands,
    ...Object.entries(command.flags).map(([flag, value]) => `[--${flag} ${value}]`),
    ...command.switches.map((flag) => `[--${flag}]`),
  ].join(' ');
}

function countOf(operands: readonly string[]): string {
  return operands.length === 0 ? 'no operand' : `${operands.length} (${operands.join(' ')})`;
}
