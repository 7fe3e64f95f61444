/**
 * A doubly linked list for values that come and go all the time, in the order in which they were added. A Set would do it,
 * but V8 keeps a Set's outgrown tables linked to the ones after them: once one of them is old, every value since then
 * survives its scavenge. Here a removed node points nowhere.
 *
 * Saves 90 of 219 µs (W1, 52ccc0e, together with `CompactingMap`); without it: a Set.
 */
export interface Node<T> {
  readonly value: T;
}

interface Link<T> extends Node<T> {
  before: Link<T> | null;
  after: Link<T> | null;
}

export class LinkedList<T> {
  #first: Link<T> | null = null;
  #last: Link<T> | null = null;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The node is what `remove` takes. */
  add(value: T): Node<T> {
    const link: Link<T> = { value, before: this.#last, after: null };
    if (this.#last === null) this.#first = link;
    else this.#last.after = link;
    this.#last = link;
    this.#size += 1;
    return link;
  }

  /** Once for each node. */
  remove(node: Node<T>): void {
    const link = node as Link<T>;
    if (link.before === null) this.#first = link.after;
    else link.before.after = link.after;
    if (link.after === null) this.#last = link.before;
    else link.after.before = link.before;
    link.before = null;
    link.after = null;
    this.#size -= 1;
  }

  /** A copy: values may be added and removed while it is read. */
  values(): T[] {
    const values: T[] = [];
    for (let link = this.#first; link !== null; link = link.after) values.push(link.value);
    return values;
  }
}
