/**
 * Watches a passed-through responses answer: usage, terminal event, the public model id, and what its events lack of the
 * public schemas, which is filled in. Most events pass as they are.
 */
import type { TokenCounts } from '../../core/usage.ts';
import { isObject, type Json, type JsonObject, numberAt, objectsAt } from '../../lib/json.ts';
import { bytesOf, generatedTexts, isNotText } from '../generated-text.ts';
import { type MemberScanner, skipSpace, unescapedBytes, valueEnd } from '../json/scan.ts';
import type { StreamPosition } from '../lane.ts';
import { type EditList, isErrorValue, looksLikeObject } from '../passthrough/observer.ts';
import { rewriteEvents } from '../passthrough/rewrite-events.ts';
import { StreamObserver, type Verdict } from '../passthrough/stream-observer.ts';
import { hostedCall } from '../reported-terms.ts';
import { dataIs, eventName, type FrameView, parsedData } from '../sse.ts';
import { brokenStream, readFailure } from '../upstream-failure.ts';
import { figure } from '../usage.ts';
import { type AnswerState, statedFields, withoutEncrypted } from './answer-state.ts';
import { type CompletionContext, completeItem, completePart, completeResponse } from './complete.ts';
import {
  FLAT_FIELDS,
  flatFieldsOf,
  hasOwnText,
  isNotGenerated,
  isRepeating,
  isSound,
  type NestedMember,
  nestedMember,
} from './event-fields.ts';
import { ResponseSnapshot } from './snapshot.ts';
import { readResponsesTerms, readResponsesTokens, writeResponsesTokens } from './tokens.ts';
import { WholeTexts } from './whole-texts.ts';

export interface ResponsesObserverOptions extends CompletionContext {
  readonly publicModel: string;
  /** The state that the gateway keeps, as events show it; by default as the provider says. */
  readonly state?: AnswerState | undefined;
  /** The most tokens that the request can take. */
  readonly tokensMax?: (() => number) | undefined;
  /** The usage that is shown where the provider reports none. */
  placeholderUsage(outputBytes: number): JsonObject;
}

const NO_LOGPROBS = Buffer.from('[]');
const NOT_JSON = 'The provider sent an event that is not JSON.';

export class ResponsesObserver extends StreamObserver {
  /** `response.completed` carries the whole answer: it cannot be invented. */
  readonly closing = null;
  readonly finished = false;
  readonly #options: ResponsesObserverOptions;
  /** The members of a rewritten response that replace those of its provider. */
  readonly #published: JsonObject;
  /** The same of the state, for responses that pass; null leaves what the provider says. */
  readonly #state: ReturnType<typeof stateBytes> | null;
  readonly #snapshot = new ResponseSnapshot();
  readonly #wholeTexts = new WholeTexts(this.output);
  #nextSequence = 0;

  // The findings of the scan of the current frame.
  #type = '';
  /** The flat fields that the event has, as bits of `FLAT_FIELDS`. */
  #fields = 0;
  #outputIndex = -1;
  #partIndex = 0;
  #deltaStart = 0;
  #deltaEnd = -1;
  #hasDelta = false;
  /** Text outside of a delta. */
  #otherBytes = 0;

  constructor(options: ResponsesObserverOptions) {
    super(options.publicModel, options.tokensMax);
    this.#options = options;
    this.#state = options.state === undefined ? null : stateBytes(options.state);
    this.#published = { ...statedFields(options.state), model: options.publicModel };
  }

  showUsage(terminal: Buffer, tokens: TokenCounts): Buffer {
    return rewriteEvents(terminal, (event) => {
      if (!isObject(event.response)) return null;
      return { ...event, response: { ...event.response, usage: writeResponsesTokens(tokens) } };
    });
  }

  override position(): StreamPosition {
    const response = (): JsonObject => {
      const seen = this.#snapshot.response() ?? { id: '', status: 'in_progress', output: [] };
      return { ...completeResponse(seen, this.#options), ...this.#published };
    };
    return { nextSequence: this.#nextSequence, response };
  }

  protected newFrame(frame: FrameView, first: boolean, edits: EditList): Verdict {
    if (!looksLikeObject(frame)) {
      if (dataIs(frame, '[DONE]') || dataIs(frame, '')) return 'neutral';
      return this.fail(brokenStream(NOT_JSON));
    }
    const before = edits.length;
    this.scan(frame, edits);
    const type = this.#type;
    if (this.error || type === 'error' || type === 'response.failed' || (this.code && this.message)) {
      return this.fail(readFailure(parsedData(frame), first));
    }
    if (type === '') return this.#untyped(frame, first);
    const member = nestedMember(type);
    if (member !== undefined) return this.#nested(frame, member, edits, before);
    this.#fillFlatFields(frame, edits);
    this.#keepDelta(frame);
    if (this.#otherBytes > 0) this.#countOther(frame);
    return 'event';
  }

  override mayFlow(beginning: FrameView): boolean {
    const scanner = this.scanner;
    let type = eventName(beginning);
    if (type === '') {
      scanner.begin(beginning.text, beginning.dataStart, beginning.dataEnd);
      while (type === '' && scanner.next()) {
        if (scanner.depth === 1 && scanner.keyIs('type')) type = scanner.valueText().slice(1, -1);
      }
    }
    const mayFlow = type !== '' && type !== 'response.failed' && nestedMember(type) === undefined;
    return mayFlow && super.mayFlow(beginning);
  }

  /** The charge follows what the provider says, not what is filled in. */
  #report(response: JsonObject): void {
    this.reported.terms.take(readResponsesTerms(response));
    this.reported.terms.calledInAll(objectsAt(response, 'output').map((item) => hostedCall('responses', item)));
    if (!isObject(response.usage)) return;
    this.reported.take(readResponsesTokens(response.usage), true, this.output.seen);
  }

  #countCall(item: JsonObject): void {
    this.reported.terms.called(hostedCall('responses', item));
  }

  #untyped(frame: FrameView, first: boolean): Verdict {
    if (first || parsedData(frame) === undefined) {
      return this.fail(brokenStream('The provider sent an event that is not a responses event.'));
    }
    return 'event';
  }

  /** An event that carries a response, an item or a part: where that lacks something, the event is written again. */
  #nested(frame: FrameView, member: NestedMember, edits: EditList, before: number): Verdict {
    const event = parsedData(frame);
    if (!isObject(event)) return this.fail(brokenStream(NOT_JSON));
    const type = this.#type;
    const terminal = type === 'response.completed' || type === 'response.incomplete';
    const value = event[member];
    const index = numberAt(event, 'output_index') ?? this.#snapshot.lastIndex;
    if (isObject(value)) {
      this.#countWhole(member, index, value);
      if (terminal) this.#report(value);
      else if (type === 'response.output_item.done') this.#countCall(value);
    }
    const complete = this.#complete(member, value, index, terminal);
    const missing = this.#missingFlatFields();
    if (complete !== value || Object.keys(missing).length > 0) {
      edits.cut(before);
      const published = member === 'response' ? { ...(complete as JsonObject), ...this.#published } : complete;
      edits.replace(
        frame.dataStart,
        frame.dataEnd,
        Buffer.from(JSON.stringify({ ...event, ...missing, [member]: published })),
      );
    }
    if (isObject(complete)) this.#remember(member, index, complete);
    return terminal ? 'terminal' : 'event';
  }

  #countWhole(member: NestedMember, index: number, value: JsonObject): void {
    if (member === 'item') {
      this.#wholeTexts.item(index, value);
    } else if (member === 'part') {
      this.#wholeTexts.part(index, this.#partName(), bytesOf(generatedTexts(value)), () => value);
    } else {
      this.#wholeTexts.response(value);
    }
  }

  /** Text that is in no delta: the end of a part repeats it, and what is not known brings it. */
  #countOther(frame: FrameView): void {
    if (isNotGenerated(this.#type)) return;
    if (isRepeating(this.#type)) {
      const index = this.#outputIndex === -1 ? this.#snapshot.lastIndex : this.#outputIndex;
      this.#wholeTexts.part(index, this.#partName(), this.#otherBytes, () => parsedData(frame));
    } else {
      const event = parsedData(frame);
      const others = this.#hasDelta && isObject(event) ? { ...event, delta: null } : event;
      for (const text of generatedTexts(others)) this.output.add(text);
    }
  }

  #partName(): string {
    return `${this.#type.includes('summary') ? 'summary' : 'content'} ${this.#partIndex}`;
  }

  #complete(member: NestedMember, value: Json | undefined, index: number, terminal: boolean): Json | undefined {
    if (member === 'part') return value === undefined ? value : completePart(value);
    if (member === 'item') {
      const status = this.#type.endsWith('.added') ? 'in_progress' : 'completed';
      const item = value === undefined ? value : completeItem(value, `${index}`, status);
      return this.#options.state?.hidesEncrypted && isObject(item) ? withoutEncrypted(item) : item;
    }
    const complete = completeResponse(isObject(value) ? value : {}, this.#options, this.#snapshot.identity);
    if (!terminal || isObject(complete.usage)) return complete;
    return { ...complete, usage: this.#options.placeholderUsage(this.output.bytes) };
  }

  #remember(member: NestedMember, index: number, value: JsonObject): void {
    if (member === 'response') this.#snapshot.created(value);
    else if (this.#type === 'response.output_item.added') this.#snapshot.added(index, value);
    else if (this.#type === 'response.output_item.done') this.#snapshot.done(index, value);
  }

  #keepDelta({ bytes }: FrameView): void {
    if (this.#deltaEnd === -1) return;
    const raw = bytes.toString('latin1', this.#deltaStart, this.#deltaEnd);
    this.#snapshot.delta(this.#outputIndex, this.#type, this.#partIndex, raw);
  }

  #missingFlatFields(): JsonObject {
    const missing = flatFieldsOf(this.#type) & ~this.#fields;
    if (missing === 0) return {};
    const fields: Record<string, string | number | readonly []> = {};
    if (missing & FLAT_FIELDS.sequence_number) fields.sequence_number = this.#nextSequence++;
    if (missing & FLAT_FIELDS.item_id) fields.item_id = this.#snapshot.lastId;
    if (missing & FLAT_FIELDS.output_index) fields.output_index = this.#snapshot.lastIndex;
    if (missing & FLAT_FIELDS.content_index) fields.content_index = 0;
    if (missing & FLAT_FIELDS.summary_index) fields.summary_index = 0;
    if (missing & FLAT_FIELDS.logprobs) fields.logprobs = [];
    return fields;
  }

  #fillFlatFields(frame: FrameView, edits: EditList): void {
    const missing = this.#missingFlatFields();
    if (Object.keys(missing).length === 0) return;
    const brace = skipSpace(frame.text, frame.dataStart);
    edits.replace(brace + 1, brace + 1, Buffer.from(`${JSON.stringify(missing).slice(1, -1)},`));
  }

  protected scan(frame: FrameView, edits: EditList): void {
    const scanner = this.scanner;
    this.#type = eventName(frame);
    this.#fields = 0;
    this.#outputIndex = -1;
    this.#partIndex = 0;
    this.#deltaEnd = -1;
    this.#hasDelta = false;
    this.#otherBytes = 0;
    this.beginScan(frame);
    while (scanner.next()) {
      if (scanner.depth === 1) this.#scanTop(scanner, edits);
      else if (!scanner.topIs('response') || nestedMember(this.#type) === undefined) this.#scanNested(scanner);
      else if (scanner.depth === 2) this.#scanResponse(scanner, edits);
    }
    scanner.release();
  }

  #scanTop(scanner: MemberScanner, edits: EditList): void {
    if (scanner.keyIs('sequence_number')) {
      const sequence = figure(Number(scanner.valueText()));
      if (typeof sequence !== 'number') return;
      this.#fields |= FLAT_FIELDS.sequence_number;
      this.#nextSequence = sequence + 1;
    } else if (scanner.keyIs('item_id')) {
      this.#fields |= FLAT_FIELDS.item_id;
    } else if (scanner.keyIs('output_index')) {
      this.#fields |= FLAT_FIELDS.output_index;
      this.#outputIndex = Number(scanner.valueText()) || 0;
    } else if (scanner.keyIs('content_index')) {
      this.#fields |= FLAT_FIELDS.content_index;
      this.#partIndex = Number(scanner.valueText()) || 0;
    } else if (scanner.keyIs('summary_index')) {
      this.#fields |= FLAT_FIELDS.summary_index;
      this.#partIndex = Number(scanner.valueText()) || 0;
    } else if (scanner.keyIs('logprobs')) {
      this.#fields |= FLAT_FIELDS.logprobs;
      if (scanner.text[scanner.valueStart] === 'n') put(scanner, edits, NO_LOGPROBS);
      scanner.skip();
    } else if ((scanner.keyIs('item') || scanner.keyIs('part')) && nestedMember(this.#type) !== undefined) {
      scanner.skip();
    } else if (scanner.keyIs('error')) {
      this.error ||= isErrorValue(scanner);
    } else if (scanner.keyIs('code')) {
      this.code = true;
      this.#noteOther(scanner);
    } else if (scanner.isString) {
      this.#scanString(scanner);
    } else if (isNotText(scanner.key())) {
      scanner.skip();
    }
  }

  #scanString(scanner: MemberScanner): void {
    if (scanner.keyIs('type')) {
      this.#type = scanner.valueText().slice(1, -1);
    } else if (scanner.keyIs('delta')) {
      this.#hasDelta ||= !scanner.stringIs('');
      if (!isNotGenerated(this.#type)) this.output.count(scanner);
      else if (isSound(this.#type) && scanner.isString) this.output.countSound(scanner);
      this.#deltaStart = scanner.valueStart + 1;
      this.#deltaEnd = scanner.stringEnd === -1 ? -1 : scanner.stringEnd - 1;
    } else if (scanner.keyIs('message')) {
      this.message = true;
    } else if (scanner.keyIs('object')) {
      this.error ||= scanner.stringIs('error');
    } else if (!scanner.keyIs('obfuscation')) {
      this.#noteOther(scanner);
    }
  }

  /** Within a member that no event of the format has, or a delta that is an object. */
  #scanNested(scanner: MemberScanner): void {
    if (isNotText(scanner.key())) {
      scanner.skip();
    } else if (scanner.isString && scanner.topIs('delta')) {
      this.#hasDelta = true;
      if (!isNotGenerated(this.#type)) this.output.count(scanner);
    } else {
      this.#noteOther(scanner);
    }
  }

  #noteOther(scanner: MemberScanner): void {
    if (!scanner.isString || isNotText(scanner.key())) return;
    if (hasOwnText(this.#type)) {
      this.beside.visit(scanner);
      return;
    }
    const end = scanner.stringEnd === -1 ? scanner.end : scanner.stringEnd - 1;
    this.#otherBytes += unescapedBytes(scanner.text, scanner.valueStart + 1, end);
  }

  #scanResponse(scanner: MemberScanner, edits: EditList): void {
    if (scanner.keyIs('model')) {
      this.model.put(scanner, edits);
    } else if (this.#state !== null && scanner.keyIs('store')) {
      put(scanner, edits, this.#state.store);
    } else if (this.#state !== null && scanner.keyIs('previous_response_id')) {
      put(scanner, edits, this.#state.previousResponseId);
    }
  }
}

function stateBytes(state: AnswerState) {
  return {
    store: Buffer.from(JSON.stringify(state.store)),
    previousResponseId: Buffer.from(JSON.stringify(state.previousResponseId)),
  };
}

/** Replaces the value of the visited member. */
function put(scanner: MemberScanner, edits: EditList, json: Buffer): void {
  const { text, valueStart, end } = scanner;
  const valueTo = valueEnd(text, valueStart, end);
  if (valueTo !== -1) edits.replace(valueStart, valueTo, json);
}
