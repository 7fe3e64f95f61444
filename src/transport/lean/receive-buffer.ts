/** Bytes of a connection that have arrived and have not been parsed yet. */
export class ReceiveBuffer {
  /** Where in the current chunk the unread bytes begin. */
  at = 0;
  #current: Buffer | null = null;
  #later: Buffer[] = [];
  #laterBytes = 0;

  get chunks(): number {
    return this.#current === null ? 0 : 1 + this.#later.length;
  }

  get bytes(): number {
    return this.#current === null ? 0 : this.#current.length - this.at + this.#laterBytes;
  }

  /** The chunk to read from; null when everything has been read. */
  get current(): Buffer | null {
    if (this.#current !== null && this.at === this.#current.length) {
      this.at = 0;
      this.#current = this.#later.shift() ?? null;
      this.#laterBytes -= this.#current?.length ?? 0;
    }
    return this.#current;
  }

  push(chunk: Buffer): void {
    if (this.current === null) this.#current = chunk;
    else {
      this.#later.push(chunk);
      this.#laterBytes += chunk.length;
    }
  }

  clear(): void {
    this.at = 0;
    this.#current = null;
    this.#later = [];
    this.#laterBytes = 0;
  }
}
