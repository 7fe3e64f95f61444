/**
 * The strings of a stream that are in none of the places where its format has text. Servers put labels there, mostly the same
 * in every frame; whatever else is there, a client can read. One per attempt.
 */
import { isNotText, Labels } from '../generated-text.ts';
import { type MemberScanner, OPEN_BRACE, OPEN_BRACKET } from '../json/scan.ts';
import type { OutputCounter } from './observer.ts';

/** How much is remembered of the frames before. */
const PLACES_MAX = 64;
const REMEMBERED_BYTES_MAX = 1_024;

export class TextBeside {
  readonly #output: OutputCounter;
  readonly #labels = new Labels();
  /** What was last said at each place of a frame. */
  readonly #said = new Map<string, string>();
  /** The member of the outermost object that the last string was in, and how many strings of it came before. */
  #topStart = -1;
  #ordinal = 0;

  constructor(output: OutputCounter) {
    this.#output = output;
  }

  startFrame(): void {
    this.#topStart = -1;
  }

  visit(scanner: MemberScanner): void {
    const { isString } = scanner;
    if (!isString && !scanner.opensWith(OPEN_BRACE) && !scanner.opensWith(OPEN_BRACKET)) return;
    if (isNotText(scanner.key())) scanner.skip();
    else if (isString && !this.#isSaidAgain(scanner) && !this.#isLabel(scanner)) this.#output.countBeside(scanner);
  }

  #isSaidAgain(scanner: MemberScanner): boolean {
    const { text, topStart, topEnd, keyStart, stringEnd } = scanner;
    this.#ordinal = topStart === this.#topStart ? this.#ordinal + 1 : 0;
    this.#topStart = topStart;
    if (stringEnd === -1 || stringEnd - keyStart > REMEMBERED_BYTES_MAX) return false;
    const top = text.slice(topStart, topEnd);
    const place = this.#ordinal === 0 ? top : `${top} ${this.#ordinal}`;
    const said = this.#said.get(place);
    if (said !== undefined && said.length === stringEnd - keyStart && text.startsWith(said, keyStart)) return true;
    if (said !== undefined || this.#said.size < PLACES_MAX) {
      this.#said.set(copied(place), copied(text.slice(keyStart, stringEnd)));
    }
    return false;
  }

  #isLabel({ valueStart, stringEnd }: MemberScanner): boolean {
    return stringEnd !== -1 && this.#labels.take(stringEnd - valueStart - 2);
  }
}

/** A slice of a chunk's text would keep all of it alive: V8 joins the two texts before it takes a part of them. */
function copied(slice: string): string {
  return ` ${slice}`.slice(1);
}
