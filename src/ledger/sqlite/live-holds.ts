/**
 * The live holds of an account by id, nearly in the order in which they came. An id is new text each time, and a Map
 * enters such text in a table of the engine before it looks for it, which costs more than all other work on a hold in
 * memory. So they are found by a number that is made of the id; those that share one are told apart by the id itself.
 */
import { CompactingMap } from '../../lib/compacting-map.ts';

interface Identified {
  readonly id: string;
}

/** The end of an id is what makes it different from others of its time. */
const CHARACTERS = 8;

export class LiveHolds<H extends Identified> {
  readonly #byNumber = new CompactingMap<number, H | H[]>();
  #size = 0;

  constructor(holds: Iterable<H>) {
    for (const hold of holds) this.add(hold);
  }

  get size(): number {
    return this.#size;
  }

  get(id: string): H | undefined {
    const found = this.#byNumber.get(numberOf(id));
    if (Array.isArray(found)) return found.find((hold) => hold.id === id);
    return found?.id === id ? found : undefined;
  }

  /** Throws where a hold of this id is there. */
  add(hold: H): void {
    const number = numberOf(hold.id);
    const there = this.#byNumber.get(number);
    if (there === undefined) this.#byNumber.set(number, hold);
    else {
      // With two of them, the second could be charged after the first.
      if (this.get(hold.id) !== undefined) throw new Error(`hold ${hold.id} is live already`);
      this.#byNumber.set(number, Array.isArray(there) ? [...there, hold] : [there, hold]);
    }
    this.#size += 1;
  }

  delete(hold: H): void {
    const number = numberOf(hold.id);
    const there = this.#byNumber.get(number);
    if (there === hold) this.#byNumber.delete(number);
    else if (Array.isArray(there) && there.includes(hold)) {
      const left = there.filter((other) => other !== hold);
      if (left.length === 0) this.#byNumber.delete(number);
      else this.#byNumber.set(number, left);
    } else return;
    this.#size -= 1;
  }

  *values(): Generator<H> {
    for (const there of this.#byNumber.values()) {
      if (Array.isArray(there)) yield* there;
      else yield there;
    }
  }
}

function numberOf(id: string): number {
  let number = 0;
  for (let at = Math.max(0, id.length - CHARACTERS); at < id.length; at++) {
    number = (Math.imul(number, 31) + id.charCodeAt(at)) | 0;
  }
  return number;
}
