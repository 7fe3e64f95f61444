/** The state that the gateway keeps, as an answer shows it: the provider knows nothing of it. */
import { isObject, type Json, type JsonObject, parseJson } from '../../lib/json.ts';
import { memberRanges } from '../json/edit.ts';
import { layoutAt, objectsOfList } from '../json/scan.ts';
import { eventName, FrameSplitter, parsedData } from '../sse.ts';

export interface AnswerState {
  /** Whether the response is kept here. */
  readonly store: boolean;
  /** The value that the client sent, before it was expanded. */
  readonly previousResponseId: string | null;
  /** Whether encrypted reasoning is kept from a client that did not ask for it. */
  readonly hidesEncrypted: boolean;
}

const CR = 0x0d;
const LINE_FEED = Buffer.from('\n');

export const ENCRYPTED_REASONING = 'reasoning.encrypted_content';

/** The members of the request that an answer may repeat, as the client sent them: not the conversation, which is long. */
export function echoedRequest(body: JsonObject, state: AnswerState | undefined): JsonObject {
  const { input: _input, messages: _messages, system: _system, ...members } = body;
  return state === undefined ? members : Object.assign(members, statedFields(state));
}

/** The item as a client sees it that did not ask for encrypted reasoning. Other items are of no use without theirs. */
export function withoutEncrypted(item: JsonObject): JsonObject {
  if (item.type !== 'reasoning' || !('encrypted_content' in item)) return item;
  const { encrypted_content: _, ...shown } = item;
  return shown;
}

/** The response with such items only. */
export function withoutEncryptedOutput(response: JsonObject): JsonObject {
  const { output } = response;
  if (!Array.isArray(output)) return response;
  return { ...response, output: output.map((item: Json) => (isObject(item) ? withoutEncrypted(item) : item)) };
}

/** The state as a response shows it, in place of what its provider says. */
export function statedFields(state: AnswerState | undefined): JsonObject {
  return state === undefined ? {} : { store: state.store, previous_response_id: state.previousResponseId };
}

/** The last bytes of a response: the whole answer, or the terminal event of a stream with what may precede it. */
export class FinalBytes {
  readonly #bytes: Buffer;
  /** The offset at which the JSON of the response begins; -1 where it is spread over several lines. */
  #start = 0;
  #frame: { readonly start: number; readonly end: number; readonly event: string; readonly data: JsonObject } | null =
    null;

  readonly #streamed: boolean;
  #parsed: JsonObject | null | undefined;

  constructor(bytes: Buffer, streamed: boolean) {
    this.#bytes = bytes;
    this.#streamed = streamed;
  }

  /** The response that they hold; null where none can be found. */
  get response(): JsonObject | null {
    this.#parsed ??= this.#streamed ? this.#ofFrames() : objectOf(parseJson(this.#bytes.toString()));
    return this.#parsed;
  }

  /** The same bytes, with these members of the response and without encrypted reasoning where that is hidden. */
  written(state: AnswerState): Buffer {
    if (this.#streamed) {
      const { response } = this;
      if (response === null) return this.#bytes;
      if (this.#start === -1) return this.#rewritten(state, response);
    }
    const view = this.#bytes.toString('latin1');
    const edits = editsOf(view, this.#start, state);
    const pieces: Buffer[] = [];
    let from = 0;
    for (const { start, end, text } of edits) {
      pieces.push(this.#bytes.subarray(from, start), Buffer.from(text));
      from = end;
    }
    pieces.push(this.#bytes.subarray(from));
    return pieces.length === 1 ? this.#bytes : Buffer.concat(pieces);
  }

  #ofFrames(): JsonObject | null {
    const splitter = new FrameSplitter();
    // A carriage return at the very end could be half a line end.
    splitter.feed(this.#bytes.at(-1) === CR ? Buffer.concat([this.#bytes, LINE_FEED]) : this.#bytes);
    while (splitter.next()) {
      if (splitter.raw || splitter.dataLines === 0) continue;
      const data = objectOf(parsedData(splitter));
      const response = objectOf(data?.response);
      if (data === null || response === null) continue;
      const { start, end, dataStart, dataLines } = splitter;
      this.#frame = { start, end, event: eventName(splitter), data };
      const top = dataLines > 1 ? null : layoutAt(splitter.text, dataStart);
      this.#start = top?.members.find(({ name }) => name === 'response')?.valueStart ?? -1;
      return response;
    }
    return null;
  }

  #rewritten(state: AnswerState, response: JsonObject): Buffer {
    if (this.#frame === null) return this.#bytes;
    const { start, end, event, data } = this.#frame;
    const shown = state.hidesEncrypted ? withoutEncryptedOutput(response) : response;
    const written = { ...data, response: { ...shown, ...statedFields(state) } };
    const frame = `${event === '' ? '' : `event: ${event}\n`}data: ${JSON.stringify(written)}\n\n`;
    return Buffer.concat([this.#bytes.subarray(0, start), Buffer.from(frame), this.#bytes.subarray(end)]);
  }
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** In the order of the text. */
function editsOf(view: string, at: number, state: AnswerState): readonly Edit[] {
  const layout = layoutAt(view, at);
  if (layout === null) return [];
  const edits: Edit[] = [];
  const said = { store: JSON.stringify(state.store), previous_response_id: JSON.stringify(state.previousResponseId) };
  const missing = new Map(Object.entries(said));
  for (const { name, valueStart: start, valueEnd: end } of layout.members) {
    if (name === 'store' || name === 'previous_response_id') {
      missing.delete(name);
      if (view.slice(start, end) !== said[name]) edits.push({ start, end, text: said[name] });
    } else if (name === 'output' && state.hidesEncrypted) {
      edits.push(...encryptedIn(view, start, end));
    }
  }
  if (missing.size > 0 && layout.members.length > 0) {
    const start = layout.open + 1;
    const text = [...missing].map(([name, json]) => `${JSON.stringify(name)}:${json},`).join('');
    edits.unshift({ start, end: start, text });
  }
  return edits;
}

/** The edits that take the encrypted reasoning out of a list of items. */
function encryptedIn(view: string, start: number, end: number): readonly Edit[] {
  const edits: Edit[] = [];
  for (const item of objectsOfList(view, start, end)) {
    const layout = layoutAt(view, item.start);
    const isReasoning = layout?.members.some(
      ({ name, valueStart, valueEnd }) => name === 'type' && view.slice(valueStart, valueEnd) === '"reasoning"',
    );
    if (layout && isReasoning) {
      const ranges = memberRanges(view, layout, ({ name }) => name === 'encrypted_content');
      edits.push(...ranges.map((range) => ({ ...range, text: '' })));
    }
  }
  return edits;
}

function objectOf(value: Json | undefined): JsonObject | null {
  return isObject(value) ? value : null;
}
