/**
 * Which outcomes wait for the disk. Every operation is in the file before its outcome is given, so that it survives the
 * process. A loss of power can take the newest operations that were not flushed; of those, nobody was given an outcome that
 * matters.
 */
import type { Operation, Result } from '../operations.ts';

/** Operations that only read, or that can be lost without harm. */
const NEED_NO_DISK: ReadonlySet<Operation['op']> = new Set<Operation['op']>([
  'findKey',
  'summary',
  'getKey',
  'listKeys',
  'keyIds',
  'expiringKeys',
  'getAccount',
  'listAccounts',
  'audit',
  'usageReport',
  'findCharge',
  'statement',
  'promotions',
  // The call that this hold was for is lost with the power too, and an unsettled hold would only have been voided.
  'admit',
  'extend',
  // What it renews would be kept for less long.
  'getResponse',
  'findChain',
  'findItems',
  // The mark before it counts.
  'mark',
  // Done again by the next process.
  'registerOwner',
  'heartbeat',
  'recover',
  'rollUp',
  'prune',
  // Asked for again where it is lost.
  'getDocument',
  'putDocument',
]);

/** Whether every outcome of this operation waits for the disk, so that nothing is gained by a commit before the next flush. */
export function alwaysWaitsForDisk({ op }: Operation): boolean {
  return !NEED_NO_DISK.has(op);
}

/** Whether this outcome may be given only when the operation, and all before it, are on the disk. */
export function waitsForDisk(operation: Operation, result: Result): boolean {
  if (alwaysWaitsForDisk(operation)) return true;
  // A reply that is replayed was charged; that charge may be younger than the last flush.
  return operation.op === 'admit' && result !== null && 'kind' in result && result.kind === 'replay';
}
