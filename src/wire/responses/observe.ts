/** Watches a passed-through responses answer: usage, terminal event, and the public model id. */
import type { TokenCounts } from '../../core/usage.ts';
import { arrayAt, isObject, type JsonObject, parseJson } from '../../lib/json.ts';
import { MemberScanner, OPEN_BRACE, valueEnd } from '../json/scan.ts';
import type { LaneFailure, Meter, StreamPosition } from '../lane.ts';
import {
  type EditList,
  looksLikeObject,
  OutputCounter,
  PublicModel,
  type StreamObserver,
  textBytes,
  type Verdict,
} from '../passthrough/observer.ts';
import { dataIs, eventName, type FrameView, parsedData } from '../sse.ts';
import { brokenStream, readFailure } from '../upstream-failure.ts';
import { figure } from '../usage.ts';
import type { AnswerState } from './answer-state.ts';
import { readResponsesTokens } from './tokens.ts';

const NULL = Buffer.from('null');

/** Events that carry the whole response: they hold its model, usage or end, and never reach the client in pieces. */
const WHOLE_RESPONSE = new Set([
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.completed',
  'response.incomplete',
  'response.failed',
]);

export class ResponsesObserver implements StreamObserver {
  /** `response.completed` carries the whole answer: it cannot be invented. */
  readonly closing = null;
  readonly finished = false;
  failure: LaneFailure | null = null;
  readonly #model: PublicModel;
  /** What events say of the state that the gateway keeps; null leaves what the provider says. */
  readonly #state: ReturnType<typeof stateBytes> | null;
  readonly #scanner = new MemberScanner();
  readonly #output = new OutputCounter();
  #reported: TokenCounts | null = null;
  #reportedFinal = false;
  #responseId: string | null = null;
  #createdAtS: number | null = null;
  #nextSequence = 0;

  // What the scan of the current frame found.
  #type = '';
  #usage: string | null = null;
  #isReasoning = false;
  #encryptedStart = 0;
  #encryptedEnd = 0;

  constructor(publicModel: string, state?: AnswerState) {
    this.#model = new PublicModel(publicModel);
    this.#state = state === undefined ? null : stateBytes(state);
  }

  meter(): Meter {
    return { reported: this.#reported, reportedFinal: this.#reportedFinal, outputBytes: this.#output.bytes };
  }

  position(): StreamPosition {
    return { responseId: this.#responseId, createdAtS: this.#createdAtS, nextSequence: this.#nextSequence };
  }

  frame(frame: FrameView, first: boolean, edits: EditList): Verdict {
    if (!looksLikeObject(frame)) {
      if (dataIs(frame, '[DONE]') || dataIs(frame, '')) return 'neutral';
      return this.#fail(brokenStream('The provider sent an event that is not JSON.'));
    }
    this.#scan(frame, edits);
    switch (this.#type) {
      case 'error':
      case 'response.failed':
        return this.#fail(readFailure(parsedData(frame), first));
      case 'response.completed':
      case 'response.incomplete':
        if (parsedData(frame) === undefined)
          return this.#fail(brokenStream('The provider sent an event that is not JSON.'));
        if (this.#usage !== null) {
          this.#reported = readResponsesTokens(parseJson(this.#usage));
          this.#reportedFinal = this.#reported !== null;
        }
        return 'terminal';
      case '':
        return this.#untyped(frame, first);
      default:
        return 'event';
    }
  }

  mayFlow(beginning: FrameView): boolean {
    const scanner = this.#scanner;
    let type = eventName(beginning);
    if (type === '') {
      scanner.begin(beginning.text, beginning.dataStart, beginning.dataEnd);
      while (type === '' && scanner.next()) {
        if (scanner.depth === 1 && scanner.keyIs('type')) type = scanner.valueText().slice(1, -1);
      }
    }
    if (this.#state?.hidesEncrypted && type.startsWith('response.output_item.')) return false;
    return type !== '' && !WHOLE_RESPONSE.has(type);
  }

  flow(beginning: FrameView, edits: EditList): void {
    this.#scan(beginning, edits);
  }

  flowed(bytes: number): void {
    this.#output.piece(bytes);
  }

  #fail(failure: LaneFailure): Verdict {
    this.failure = failure;
    return 'failed';
  }

  #untyped(frame: FrameView, first: boolean): Verdict {
    const value = parsedData(frame);
    if (isObject(value) && isObject(value.error)) return this.#fail(readFailure(value, first));
    if (first || value === undefined) {
      return this.#fail(brokenStream('The provider sent an event that is not a responses event.'));
    }
    return 'event';
  }

  #scan(frame: FrameView, edits: EditList): void {
    const scanner = this.#scanner;
    this.#type = '';
    this.#usage = null;
    this.#isReasoning = false;
    this.#encryptedEnd = 0;
    this.#output.startFrame();
    scanner.begin(frame.text, frame.dataStart, frame.dataEnd);
    while (scanner.next()) {
      if (scanner.depth === 1) this.#scanTop(scanner);
      else if (scanner.depth === 2 && scanner.topIs('response')) this.#scanResponse(scanner, edits);
      else if (scanner.depth === 2 && this.#state?.hidesEncrypted && scanner.topIs('item')) this.#scanItem(scanner);
    }
    if (this.#isReasoning && this.#encryptedEnd > 0) edits.replace(this.#encryptedStart, this.#encryptedEnd, NULL);
    if (this.#type === '') this.#type = eventName(frame);
    scanner.release();
  }

  #scanTop(scanner: MemberScanner): void {
    if (scanner.isString) {
      if (scanner.keyIs('type')) this.#type = scanner.valueText().slice(1, -1);
      else if (scanner.keyIs('delta')) this.#output.count(scanner);
    } else if (scanner.keyIs('sequence_number')) {
      const sequence = figure(Number(scanner.valueText()));
      if (typeof sequence === 'number') this.#nextSequence = sequence + 1;
    }
  }

  #scanItem(scanner: MemberScanner): void {
    if (!scanner.isString || scanner.stringEnd === -1) return;
    if (scanner.keyIs('type')) this.#isReasoning = scanner.stringIs('reasoning');
    else if (scanner.keyIs('encrypted_content')) {
      this.#encryptedStart = scanner.valueStart;
      this.#encryptedEnd = scanner.stringEnd;
    }
  }

  #scanResponse(scanner: MemberScanner, edits: EditList): void {
    if (scanner.keyIs('model')) {
      this.#model.put(scanner, edits);
    } else if (this.#state !== null && scanner.keyIs('store')) {
      put(scanner, edits, this.#state.store);
    } else if (this.#state !== null && scanner.keyIs('previous_response_id')) {
      put(scanner, edits, this.#state.previousResponseId);
    } else if (scanner.keyIs('usage')) {
      if (scanner.opensWith(OPEN_BRACE)) this.#usage = scanner.valueText();
    } else if (this.#responseId === null && scanner.keyIs('id') && scanner.isString) {
      const id = parseJson(scanner.valueText());
      if (typeof id === 'string') this.#responseId = id;
    } else if (this.#createdAtS === null && scanner.keyIs('created_at')) {
      const created = figure(Number(scanner.valueText()));
      if (typeof created === 'number') this.#createdAtS = created;
    }
  }
}

function stateBytes(state: AnswerState) {
  return {
    store: Buffer.from(JSON.stringify(state.store)),
    previousResponseId: Buffer.from(JSON.stringify(state.previousResponseId)),
    hidesEncrypted: state.hidesEncrypted,
  };
}

/** Replaces the value of the visited member. */
function put(scanner: MemberScanner, edits: EditList, json: Buffer): void {
  const { text, valueStart, end } = scanner;
  const valueTo = valueEnd(text, valueStart, end);
  if (valueTo !== -1) edits.replace(valueStart, valueTo, json);
}

export function isResponsesAnswer(answer: JsonObject): boolean {
  return answer.object === 'response' && Array.isArray(answer.output) && answer.status !== 'failed';
}

export function responsesWholeMeter(answer: JsonObject): Meter {
  const reported = readResponsesTokens(answer.usage);
  let outputBytes = 0;
  for (const item of arrayAt(answer, 'output') ?? []) {
    if (isObject(item)) outputBytes += itemBytes(item);
  }
  return { reported, reportedFinal: reported !== null, outputBytes };
}

function itemBytes(item: JsonObject): number {
  let bytes = textBytes(item.arguments) + textBytes(item.input);
  for (const part of [...(arrayAt(item, 'content') ?? []), ...(arrayAt(item, 'summary') ?? [])]) {
    if (isObject(part)) bytes += textBytes(part.text) + textBytes(part.refusal);
  }
  return bytes;
}
