/** A body in pieces. undici keeps what it was given to send until the response has ended, which may take minutes: this can be emptied. */
export class Pieces {
  #pieces: readonly Buffer[];
  readonly bytes: number;

  constructor(body: Buffer | readonly Buffer[]) {
    this.#pieces = Buffer.isBuffer(body) ? [body] : body;
    this.bytes = this.#pieces.reduce((sum, { length }) => sum + length, 0);
  }

  [Symbol.iterator](): Iterator<Buffer> {
    return this.#pieces[Symbol.iterator]();
  }

  /** The response has begun, so that nobody asks for the body again; whoever is still sending it has it until then. */
  release(): void {
    this.#pieces = [];
  }
}
