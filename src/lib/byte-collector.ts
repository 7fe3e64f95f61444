/**
 * Bytes that arrive in pieces, kept until they are wanted whole. Small pieces are copied together, so that what is kept
 * costs at most about twice its own length: an array of them would cost more than 100 bytes for each, however small.
 */
const FIRST_BYTES = 4_096;

export class ByteCollector {
  /** The only piece so far, which is not copied. */
  #only: Buffer | null = null;
  #bytes: Buffer | null = null;
  #length = 0;
  readonly #expectedBytes: number;

  /** No more room is taken than for what is expected, and not for all of that at once: it may never come. */
  constructor(expectedBytes = Number.POSITIVE_INFINITY) {
    this.#expectedBytes = expectedBytes;
  }

  get length(): number {
    return this.#length;
  }

  add(piece: Buffer): void {
    if (this.#length === 0) {
      this.#only = piece;
    } else {
      this.#reserve(this.#length + piece.length).set(piece, this.#length);
    }
    this.#length += piece.length;
  }

  /** All of it. Not to be changed: it may be the piece that was added. */
  whole(): Buffer {
    return this.#only ?? this.#bytes?.subarray(0, this.#length) ?? Buffer.alloc(0);
  }

  #reserve(length: number): Buffer {
    if (this.#bytes === null || this.#bytes.length < length) {
      const wanted = Math.min(Math.max(FIRST_BYTES, 2 * length), this.#expectedBytes);
      const larger = Buffer.allocUnsafe(Math.max(length, wanted));
      larger.set(this.whole());
      this.#bytes = larger;
      this.#only = null;
    }
    return this.#bytes;
  }
}
