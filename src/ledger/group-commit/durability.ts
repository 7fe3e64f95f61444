/**
 * Which outcomes wait for the disk. Every operation is in the file before its outcome is given, so that it survives the
 * process. A loss of power can take the newest operations that were not flushed; of those, nobody was given an outcome that
 * matters.
 */
import { OPERATIONS, type Operation, type Result } from '../operations.ts';

/** Whether every outcome of this operation waits for the disk, so that nothing is gained by a commit before the next flush. */
export function alwaysWaitsForDisk({ op }: Operation): boolean {
  return OPERATIONS[op].durability === 'durable';
}

/** Whether this outcome may be given only when the operation, and all before it, are on the disk. */
export function waitsForDisk(operation: Operation, result: Result): boolean {
  if (alwaysWaitsForDisk(operation)) return true;
  // Its client is told of a run at once, and asks for it later.
  if (operation.op === 'admit' && operation.request.hold?.run !== undefined) return true;
  // A reply that is replayed was charged; that charge may be younger than the last flush.
  return operation.op === 'admit' && result !== null && 'kind' in result && result.kind === 'replay';
}
