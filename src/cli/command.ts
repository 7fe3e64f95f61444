/** What every command of the operator is. */
import type { AdminApi } from '../admin/api.ts';
import type { CommandArguments, CommandShape } from './arguments.ts';
import type { Output } from './output.ts';

export interface Command extends CommandShape {
  /** Whether the command creates a missing data folder. */
  readonly createsData?: boolean;
  run(api: AdminApi, given: CommandArguments): Promise<Output>;
}
