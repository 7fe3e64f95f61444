/** What `--help` says of one command, or of those that begin with the same word, with examples. */
import { type CommandShape, usageLine } from './arguments.ts';

/** Null where no command begins like this line. */
export function helpOf(commands: readonly CommandShape[], line: readonly string[]): string | null {
  const given = line.filter((word) => !word.startsWith('-'));
  const fits = ({ words }: CommandShape): boolean => words.every((word, index) => given[index] === word);
  const [exact] = commands.filter(fits).toSorted((a, b) => b.words.length - a.words.length);
  const found = exact !== undefined ? [exact] : commands.filter(({ words }) => words[0] === given[0]);
  return found.length === 0 ? null : `${found.map(describe).join('\n\n')}\n`;
}

function describe(command: CommandShape): string {
  const examples = command.examples.map((example) => `  e.g. gateway ${example}`);
  return [usageLine(command), `    ${command.summary}`, ...examples].join('\n');
}
