/** Finds where a JSON object or list that comes in pieces is complete. */
export class JsonEndDetector {
  #depth = 0;
  #started = false;
  #inString = false;
  #escaped = false;

  get complete(): boolean {
    return this.#started && this.#depth === 0 && !this.#inString;
  }

  /** The offset in this piece behind the end of the value; -1 where it does not end in it. */
  feed(text: string): number {
    let end = -1;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (code === 0x5c) this.#escaped = true;
        else if (code === 0x22) this.#inString = false;
      } else if (code === 0x22) {
        this.#inString = true;
      } else if (code === 0x7b || code === 0x5b) {
        this.#started = true;
        this.#depth++;
      } else if (code === 0x7d || code === 0x5d) {
        this.#depth--;
        if (end === -1 && this.complete) end = i + 1;
      }
    }
    return end;
  }
}
