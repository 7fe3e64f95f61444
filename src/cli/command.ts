/** What every command of the operator is. */
import type { AdminClient } from '../admin/client.ts';
import { type CommandArguments, type CommandShape, type ShapeRow, shape } from './arguments.ts';
import { json, lines, type Output } from './output.ts';

export interface Command extends CommandShape {
  /** Whether the command creates a missing data folder. */
  readonly createsData?: boolean;
  run(api: AdminClient, given: CommandArguments): Promise<Output>;
}

/** Lines with what the error output says of them. */
interface WarnedLines {
  readonly lines: readonly string[];
  readonly warning: string | null;
}

interface CommandRow<Answer> extends ShapeRow {
  readonly createsData?: boolean;
  /** Asks the admin API for what `--json` prints. */
  ask(api: AdminClient, given: CommandArguments): Promise<Answer>;
  /** The same for people. */
  print(answer: Answer, given: CommandArguments): readonly string[] | WarnedLines;
  /** 0 by default. */
  exitCode?(answer: Answer): number;
}

export function command<Answer>({ ask, print, exitCode = () => 0, ...row }: CommandRow<Answer>): Command {
  return {
    ...row,
    ...shape(row),
    run: async (api, given) => {
      const answer = await ask(api, given);
      if (given.switches.has('json')) return { ...json(answer), exitCode: exitCode(answer) };
      const printed = print(answer, given);
      const warned = 'warning' in printed ? printed : { lines: printed, warning: null };
      return { ...lines(warned.lines), warning: warned.warning, exitCode: exitCode(answer) };
    },
  };
}

/** What is printed of a list below its last row. */
export function moreLine(command: string, cursor: string | null): readonly string[] {
  return cursor === null ? [] : ['', `More: gateway ${command} --cursor ${cursor}`];
}
