/**
 * A request of `node:http` whose content may come in small pieces, but not in thousands of tiny ones. Each chunk of a chunked
 * body becomes a Buffer and a call, however small it is: a megabyte in chunks of 1 byte takes two seconds.
 */
import type { Socket } from 'node:net';
import { IncomingMessage } from './node-http.ts';
import { PIECE_BYTES_MIN, PIECES_OF_ANY_SIZE, PieceTally } from './piece-tally.ts';
import { restUntilNextTurn } from './rest-socket.ts';
import { stopParsing } from './stop-parsing.ts';

/** After so many of one socket, others have a turn. */
const PIECES_IN_A_ROW = 1_024;
/** Behind the first ones, small pieces are handed on together: a queue of Buffers would take a hundred bytes for each. */
const SINGLE_PIECES = 64;
const GATHERED_BYTES = 4_096;

/** Not documented. */
const { _dump: dump } = IncomingMessage.prototype as InstanceType<typeof IncomingMessage> & { _dump(): void };

/** What one socket has brought in a turn of the event loop: of several bodies, where they are pipelined. */
let row = newRow();
let rowSocket: Socket | null = null;

/** A turn without many pieces is not told from the next one. */
function newRow(): PieceTally {
  return new PieceTally(PIECES_OF_ANY_SIZE + SINGLE_PIECES);
}

function beginRow(socket: Socket | null): void {
  row = newRow();
  rowSocket = socket;
}

function endRow(): void {
  beginRow(null);
}

export class CountedMessage extends IncomingMessage {
  readonly #tally = new PieceTally();
  #gathered: Buffer | null = null;
  #gatheredBytes = 0;

  get pieces(): number {
    return this.#tally.pieces;
  }

  /** False: the socket is not to be read for now. */
  override push(piece: Buffer | null): boolean {
    if (piece === null) {
      this.#handOn();
      return super.push(null);
    }
    if (rowSocket !== this.socket) beginRow(this.socket);
    row.add(piece);
    if (row.pieces === SINGLE_PIECES) setImmediate(endRow);
    this.#tally.add(piece);
    if (this.#tally.areTooSmall || row.areTooSmall) {
      this.refuseTinyChunks();
      return false;
    }
    const flows = this.#isToGather(piece) ? this.#gather(piece) : this.#add(piece);
    if (row.pieces >= PIECES_IN_A_ROW) this.#rest();
    return flows;
  }

  /** Node would drop the rest of a content that nobody has asked for before it is counted here. */
  _dump(): void {
    if (this.complete) dump.call(this);
    else this.resume();
  }

  /** No more of them is parsed. Whoever would answer does so instead of this. */
  protected refuseTinyChunks(): void {
    stopParsing(this.socket);
    this.socket.destroy();
  }

  #isToGather(piece: Buffer): boolean {
    return piece.length < PIECE_BYTES_MIN && this.pieces > SINGLE_PIECES;
  }

  #gather(piece: Buffer): boolean {
    const flows = this.#gatheredBytes + piece.length <= GATHERED_BYTES || this.#handOn();
    this.#gathered ??= Buffer.allocUnsafeSlow(GATHERED_BYTES);
    this.#gathered.set(piece, this.#gatheredBytes);
    this.#gatheredBytes += piece.length;
    return flows;
  }

  #add(piece: Buffer): boolean {
    this.#handOn();
    return super.push(piece);
  }

  #handOn(): boolean {
    if (this.#gathered === null) return true;
    const gathered = this.#gathered.subarray(0, this.#gatheredBytes);
    this.#gathered = null;
    this.#gatheredBytes = 0;
    return super.push(gathered);
  }

  #rest(): void {
    restUntilNextTurn(this.socket, () => this.complete || this.readableLength < this.readableHighWaterMark);
  }
}
