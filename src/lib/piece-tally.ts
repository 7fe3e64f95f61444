/**
 * The pieces of a request's content, and whether there are too many for their size. A piece costs 2 to 3 us however small it
 * is: with 64 bytes in each, on average, a body costs no more time than small requests of as many bytes do. Clients send pieces
 * of a kilobyte or more, but a few may be of any size.
 */
export const PIECES_OF_ANY_SIZE = 4_096;
export const PIECE_BYTES_MIN = 64;

export class PieceTally {
  pieces = 0;
  bytes = 0;
  readonly #anySize: number;

  constructor(anySize = PIECES_OF_ANY_SIZE) {
    this.#anySize = anySize;
  }

  add(piece: Buffer): void {
    this.pieces += 1;
    this.bytes += piece.length;
  }

  /** Whether there are too many for their size. */
  get areTooSmall(): boolean {
    return this.pieces > this.#anySize && this.bytes < this.pieces * PIECE_BYTES_MIN;
  }
}
