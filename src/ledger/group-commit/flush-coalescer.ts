/**
 * Who may still come to wait for the same flush. Where several come at a time, waiting for the others of them makes one
 * commit and one flush of what would be many; where they come one by one, nobody waits.
 */
import type { Operation, Result } from '../operations.ts';

/** Fewer than this are not worth waiting for. */
const WORTH_WAITING_MIN = 3;

export class FlushCoalescer {
  /** Holds whose end nobody has asked for yet: about, for it only decides who waits for a moment. */
  #underWay = 0;
  /** How many waited for the last flush together. */
  #last = 0;

  /** Whether those that wait should expect more to come. */
  get worthWaiting(): boolean {
    return this.#last >= WORTH_WAITING_MIN;
  }

  /** Whether everybody who was under way has come. */
  get allArrived(): boolean {
    return this.#underWay === 0;
  }

  onSubmit({ op }: Operation): void {
    if (op === 'settle' || op === 'void') this.#leave(1);
  }

  onResult(operation: Operation, result: Result): void {
    if (result === null) return;
    if (operation.op === 'admit') {
      if (operation.request.hold !== null && 'kind' in result && result.kind === 'admitted') this.#underWay++;
    } else if (operation.op === 'recover' && 'voided' in result) this.#leave(result.charged + result.voided);
  }

  onFlush(together: number): void {
    this.#last = together;
  }

  #leave(holds: number): void {
    this.#underWay = Math.max(0, this.#underWay - holds);
  }
}
