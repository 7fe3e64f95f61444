/**
 * Who is there now, in the order of arrival, for members that come and go all the time. A Set would do it, but V8 keeps a
 * Set's outgrown tables linked to the ones after them: once one of them is old, every member since then outlives its
 * collection of young garbage, which costs more than all other work on a request together. Here a place that was left
 * points nowhere.
 */
export interface Place<T> {
  readonly member: T;
}

interface Link<T> extends Place<T> {
  before: Link<T> | null;
  after: Link<T> | null;
}

export class Roster<T> {
  #first: Link<T> | null = null;
  #last: Link<T> | null = null;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The place is what `leave` takes. */
  enter(member: T): Place<T> {
    const link: Link<T> = { member, before: this.#last, after: null };
    if (this.#last === null) this.#first = link;
    else this.#last.after = link;
    this.#last = link;
    this.#size += 1;
    return link;
  }

  /** Once for each place. */
  leave(place: Place<T>): void {
    const link = place as Link<T>;
    if (link.before === null) this.#first = link.after;
    else link.before.after = link.after;
    if (link.after === null) this.#last = link.before;
    else link.after.before = link.before;
    link.before = null;
    link.after = null;
    this.#size -= 1;
  }

  /** As it is now: members may come and go while these are visited. */
  members(): T[] {
    const members: T[] = [];
    for (let link = this.#first; link !== null; link = link.after) members.push(link.member);
    return members;
  }
}
