/**
 * The beginning of what a stream has generated, for a tokenizer to count where nobody reports its tokens; or all of it, taken
 * piece by piece, where a hold depends on it. The bytes are copied: a piece of a chunk's text would keep all of the chunk in
 * memory.
 */

/** Enough to know how many bytes of it make a token. */
const BYTES_MAX = 16 * 1_024;
/** More than a frame that waits for its hold may have. */
const WIDE_BYTES_MAX = 2 * 1_024 * 1_024;
const BYTES_FIRST = 1_024;
const GROWTH = 4;
/** So few bytes are copied one by one in less time than a call takes. */
const LOOP_BYTES_MAX = 64;
/** The longest end of JSON text that can be cut off inside an escape: two halves of a surrogate pair. */
const ESCAPE_BYTES_MAX = 12;
const NOTHING = Buffer.alloc(0);

export class OutputSample {
  #bytes = NOTHING;
  #length = 0;
  #max = BYTES_MAX;
  #closed = false;
  /** The bytes are content of JSON strings, with its escapes. */
  #escaped = false;

  /** Whether it takes no more. */
  get full(): boolean {
    return this.#closed || this.#length === this.#max;
  }

  /** Whether it has enough to be taken. */
  get ripe(): boolean {
    return this.#length >= BYTES_MAX;
  }

  /** From now on it takes all that comes, for somebody who takes it in turn. */
  widen(): void {
    this.#max = WIDE_BYTES_MAX;
  }

  /** The content of a JSON string within text that holds one byte in each character. */
  addEscaped(text: string, start: number, end: number): void {
    this.#escaped = true;
    const length = Math.min(end - start, this.#max - this.#length);
    if (this.#length + length > this.#bytes.length) this.#grow(length);
    if (length > LOOP_BYTES_MAX) this.#bytes.write(text.slice(start, start + length), this.#length, 'latin1');
    else for (let at = 0; at < length; at++) this.#bytes[this.#length + at] = text.charCodeAt(start + at);
    this.#length += length;
  }

  /** Text beside what `addEscaped` adds. */
  addUnescaped(text: string): void {
    const escaped = Buffer.from(JSON.stringify(text.slice(0, this.#max)).slice(1, -1)).toString('latin1');
    this.addEscaped(escaped, 0, escaped.length);
  }

  addText(text: string): void {
    // A character has three bytes at most; a pair of them four.
    const length = Math.min(text.length * 3, this.#max - this.#length);
    if (this.#length + length > this.#bytes.length) this.#grow(length);
    // Only whole characters are written, so that a few bytes may be left at the end.
    this.#length += this.#bytes.write(text, this.#length, 'utf8');
    if (this.#length > this.#max - 4) this.#closed = true;
  }

  /** Text that follows is not looked at. */
  close(): void {
    this.#closed = true;
  }

  /** The text so far; what follows is collected anew. */
  take(): string {
    const text = this.text();
    this.#length = 0;
    this.#closed = false;
    if (this.#bytes.length > BYTES_MAX) this.#bytes = NOTHING;
    return text;
  }

  /** The text with whatever escapes it came with: for an estimate, without parsing. */
  rough(): string {
    return this.#bytes.toString('utf8', 0, this.#length);
  }

  text(): string {
    if (!this.#escaped) return this.#bytes.toString('utf8', 0, this.#length);
    for (let end = this.#length; end >= Math.max(0, this.#length - ESCAPE_BYTES_MAX); end--) {
      try {
        return String(JSON.parse(`"${this.#bytes.toString('utf8', 0, end)}"`));
      } catch {
        // It ends inside an escape.
      }
    }
    return '';
  }

  #grow(more: number): void {
    let size = Math.max(BYTES_FIRST, this.#bytes.length);
    while (size < this.#length + more) size *= GROWTH;
    // Not from the pool, of which a small piece keeps a large one.
    const larger = Buffer.allocUnsafeSlow(size);
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

/** The sample of texts that are all there. */
export function sampleOf(texts: Iterable<string>): OutputSample {
  const sample = new OutputSample();
  for (const text of texts) {
    if (sample.full) break;
    sample.addText(text);
  }
  return sample;
}
