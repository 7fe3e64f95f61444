/**
 * What waits for the disk. Every operation is in the file before its outcome is told, so that it outlives the process. A
 * loss of power can take what was not flushed to the disk: the newest operations, and of those only what nobody was told.
 */
import type { Operation, Result } from '../operations.ts';

/** Only told what is, or what can be lost without harm. */
const NEED_NO_DISK: ReadonlySet<Operation['op']> = new Set<Operation['op']>([
  'findKey',
  'summary',
  'getKey',
  'listKeys',
  'audit',
  // The call that this hold was for is lost with the power too, and an unsettled hold would only have been voided.
  'admit',
  'extend',
  // The mark before it counts.
  'mark',
  // Done again by the next process.
  'registerOwner',
  'heartbeat',
  'recover',
  'prune',
  // Asked for again where it is lost.
  'getDocument',
  'putDocument',
]);

/** Whether the outcome waits for the disk whatever it is, so that nothing is gained by a commit before the next flush. */
export function alwaysWaitsForDisk({ op }: Operation): boolean {
  return !NEED_NO_DISK.has(op);
}

/** Whether the outcome may be told only when the operation, and all before it, are on the disk. */
export function waitsForDisk(operation: Operation, result: Result): boolean {
  if (alwaysWaitsForDisk(operation)) return true;
  // An answer that is given again was charged; that charge may be younger than the last flush.
  return operation.op === 'admit' && result !== null && 'kind' in result && result.kind === 'replay';
}
