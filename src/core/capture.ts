/** The content of one request, where the operator captures what its key asks and is answered. */

/** Of the request and of the response each; what is beyond it is cut off. */
export const CAPTURED_BYTES_MAX = 1024 ** 2;

export class Capture {
  readonly keepDays: number;
  #request: Buffer | null = null;
  #response: Buffer[] = [];
  #responseBytes = 0;
  #cut = false;

  constructor(keepDays: number) {
    this.keepDays = keepDays;
  }

  /** Whether something was too long to be kept whole. */
  get cut(): boolean {
    return this.#cut;
  }

  get bytes(): number {
    return (this.#request?.length ?? 0) + this.#responseBytes;
  }

  get request(): Buffer {
    return this.#request ?? Buffer.alloc(0);
  }

  /** As the client got it; of a stream, its events. */
  get response(): Buffer {
    return Buffer.concat(this.#response);
  }

  received(body: Buffer): void {
    this.#cut ||= body.length > CAPTURED_BYTES_MAX;
    this.#request = Buffer.from(body.subarray(0, CAPTURED_BYTES_MAX));
  }

  /** A copy is taken: a transport may use the memory again. */
  wrote(bytes: Uint8Array): void {
    const room = CAPTURED_BYTES_MAX - this.#responseBytes;
    this.#cut ||= bytes.length > room;
    if (room === 0) return;
    const part = Buffer.from(bytes.subarray(0, room));
    this.#response.push(part);
    this.#responseBytes += part.length;
  }
}
