/**
 * Most frames of a stream say what one before them said, but for a few words of text. Such a frame is known by
 * comparing, which is native and several times cheaper than a scan: outside of its text it is the same to the byte, and
 * its text ends where the frame goes on as before, so that a scan would find just the same members.
 */

import { closingQuote, type MemberScanner, unescapedBytes } from '../json/scan.ts';
import type { FrameView } from '../sse.ts';
import type { EditList, PlacedEdit } from './observer.ts';

/** What is learnt stays in memory as long as its stream. */
const FRAME_BYTES_MAX = 2_048;
const TEXTS_MAX = 4;
/** So many more frames learnt than repeated, and this is no stream of that kind. */
const IN_VAIN_MAX = 8;

interface Text {
  readonly start: number;
  readonly end: number;
  /** Padding is text too, but none that counts. */
  readonly generated: boolean;
}

/** One per attempt. */
export class RepeatedFrame {
  /** Generated text in the frame that fitted last. */
  outputBytes = 0;
  /** What the learnt frame says before, between and behind its texts. */
  #pieces: readonly string[] = [];
  /** Its texts, in their order. */
  #texts: readonly Text[] = [];
  /** From the end of its data to its own. */
  #tailLength = 0;
  #edit: PlacedEdit | null = null;
  #inVain = 0;
  /** The texts of the frame that is being scanned; null when it is not one to learn. */
  #scanned: Text[] | null = null;

  startScan(frame: FrameView): void {
    const apt = frame.end - frame.start <= FRAME_BYTES_MAX && this.#inVain < IN_VAIN_MAX;
    this.#scanned = apt ? [] : null;
  }

  /** The visited member is a string whose text may be another one in the next frame. */
  text(scanner: MemberScanner, generated: boolean): void {
    const cutOff = scanner.stringEnd === -1;
    if (cutOff || this.#scanned?.length === TEXTS_MAX) this.#scanned = null;
    this.#scanned?.push({ start: scanner.valueStart + 1, end: scanner.stringEnd - 1, generated });
  }

  /**
   * Learns the frame that was just scanned. It must be one that asks for nothing but to be forwarded, to have its text
   * counted, and to have the edits from index `before` on made.
   */
  learn(frame: FrameView, edits: EditList, before: number): void {
    const texts = this.#scanned;
    const first = texts?.[0];
    if (!texts || !first) return;
    const edit = edits.length === before ? null : edits.at(before);
    // An edit behind text that changes would have to move with it.
    if (edits.length > before + 1 || (edit !== null && edit.end > first.start)) return;
    this.#inVain++;
    let from = frame.start;
    const pieces: string[] = [];
    for (const { start, end } of texts) {
      // Fresh strings: a slice of the chunk's text would keep all of it alive.
      pieces.push(frame.bytes.toString('latin1', from, start));
      from = end;
    }
    pieces.push(frame.bytes.toString('latin1', from, frame.end));
    this.#pieces = pieces;
    this.#texts = texts;
    this.#scanned = null;
    this.#tailLength = frame.end - frame.dataEnd;
    this.#edit = edit && { start: edit.start - frame.start, end: edit.end - frame.start, text: edit.text };
  }

  /** Whether the frame is the learnt one with other text; the edit that it needs is then asked for. */
  fits(frame: FrameView, edits: EditList): boolean {
    const { text, start, end } = frame;
    const head = this.#pieces[0];
    if (head === undefined || end - frame.dataEnd !== this.#tailLength || !isAt(text, start, head)) return false;
    let at = start + head.length;
    let bytes = 0;
    for (let index = 0; index < this.#texts.length; index++) {
      const piece = this.#pieces[index + 1] ?? '';
      const close = closingQuote(text, at, end);
      if (close === -1 || !isAt(text, close, piece)) return false;
      if (this.#texts[index]?.generated === true) bytes += unescapedBytes(text, at, close);
      at = close + piece.length;
    }
    if (at !== end) return false;
    const edit = this.#edit;
    if (edit !== null) edits.replace(start + edit.start, start + edit.end, edit.text);
    this.outputBytes = bytes;
    if (this.#inVain > 0) this.#inVain--;
    return true;
  }
}

/** Comparing a slice takes a third of the time of `startsWith`. */
function isAt(text: string, start: number, piece: string): boolean {
  return text.slice(start, start + piece.length) === piece;
}
