/** The refusal of a change that was made to an older version. */
import type { OtherVersion } from '../ledger/port.ts';
import { AdminError } from './api.ts';

export function changedMeanwhile(what: string, { version }: OtherVersion): AdminError {
  return new AdminError(
    'precondition_failed',
    `${what} has been changed meanwhile: it is at version ${version}; read it again`,
  );
}
