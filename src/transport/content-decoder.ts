/**
 * Decodes compressed content as it arrives: what a chunk completes is passed on at once, so a compressed event stream
 * still streams. It keeps a few KiB besides the decoder's window, however much the content grows: whoever listens bounds
 * the decoded bytes, as those of plain content.
 */
import {
  type BrotliDecompress,
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  type Gunzip,
  type Inflate,
  type InflateRaw,
  type ZstdDecompress,
} from 'node:zlib';

export interface DecoderListener {
  onDecoded(chunk: Buffer): void;
  /** After a `write` that returned false: there is room again. */
  onDrain(): void;
  onDecodedEnd(): void;
  onDecodeError(): void;
}

type DecoderStream = Gunzip | Inflate | InflateRaw | BrotliDecompress | ZstdDecompress;

/** RFC 9659: a sender must not need a larger window. */
const ZSTD_WINDOW_LOG_MAX = 23;
/** The method in the first byte of the zlib format; servers exist that send `deflate` without its header. */
const ZLIB_METHOD = 8;

const DECODERS: Readonly<Record<string, (first: number) => DecoderStream>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  deflate: (first) => ((first & 0x0f) === ZLIB_METHOD ? createInflate() : createInflateRaw()),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX } }),
};

/** Null for an encoding that is not known; a list of several is not. */
export function openDecoder(encoding: string, listener: DecoderListener): ContentDecoder | null {
  const name = encoding.toLowerCase();
  const create = Object.hasOwn(DECODERS, name) ? DECODERS[name] : undefined;
  return create ? new ContentDecoder(create, listener) : null;
}

/** After `destroy`, and after an error, nothing more is called. */
export class ContentDecoder {
  readonly #create: (first: number) => DecoderStream;
  readonly #listener: DecoderListener;
  /** Made with the first byte. */
  #stream: DecoderStream | null = null;
  #paused = false;
  #destroyed = false;

  constructor(create: (first: number) => DecoderStream, listener: DecoderListener) {
    this.#create = create;
    this.#listener = listener;
  }

  /** False: no more until `onDrain`. */
  write(chunk: Buffer): boolean {
    if (this.#destroyed || chunk.length === 0) return true;
    this.#stream ??= this.#open(chunk[0] ?? 0);
    return this.#stream.write(chunk);
  }

  end(): void {
    if (this.#stream) this.#stream.end();
    // No content at all, as some servers answer without any.
    else if (!this.#destroyed) this.#listener.onDecodedEnd();
  }

  /** Calls back when what has been written is decoded and passed on. */
  flush(done: () => void): void {
    if (this.#destroyed) return;
    if (this.#stream) this.#stream.flush(() => this.#destroyed || done());
    else done();
  }

  pause(): void {
    this.#paused = true;
    this.#stream?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#stream?.resume();
  }

  destroy(): void {
    this.#destroyed = true;
    this.#stream?.destroy();
  }

  #open(first: number): DecoderStream {
    const stream = this.#create(first);
    stream.on('data', (chunk: Buffer) => this.#destroyed || this.#listener.onDecoded(chunk));
    stream.on('drain', () => this.#destroyed || this.#listener.onDrain());
    stream.on('end', () => this.#destroyed || this.#listener.onDecodedEnd());
    stream.on('error', () => {
      if (this.#destroyed) return;
      this.destroy();
      this.#listener.onDecodeError();
    });
    if (this.#paused) stream.pause();
    return stream;
  }
}
