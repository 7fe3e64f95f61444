/** What every command of the operator is. */
import type { AdminClient } from '../admin/client.ts';
import type { CommandArguments, CommandShape } from './arguments.ts';
import type { Output } from './output.ts';

export interface Command extends CommandShape {
  /** Whether the command creates a missing data folder. */
  readonly createsData?: boolean;
  run(api: AdminClient, given: CommandArguments): Promise<Output>;
}
