/** Watches a passed-through responses answer: usage, terminal event, and the public model id. */
import type { TokenCounts } from '../../core/usage.ts';
import { arrayAt, isObject, type Json, type JsonObject, objectAt, objectsAt, parseJson } from '../../lib/json.ts';
import { MemberScanner } from '../json/scan.ts';
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
import { hostedCall, TermsReport } from '../reported-terms.ts';
import { dataIs, eventName, type FrameView, parsedData } from '../sse.ts';
import { brokenStream, readFailure } from '../upstream-failure.ts';
import { figure } from '../usage.ts';
import { readResponsesTerms, readResponsesTokens } from './tokens.ts';

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
  readonly #scanner = new MemberScanner();
  readonly #output = new OutputCounter();
  #reported: TokenCounts | null = null;
  #reportedFinal = false;
  readonly #terms = new TermsReport();
  #responseId: string | null = null;
  #createdAtS: number | null = null;
  #nextSequence = 0;

  // What the scan of the current frame found.
  #type = '';
  #itemType = '';

  constructor(publicModel: string) {
    this.#model = new PublicModel(publicModel);
  }

  meter(): Meter {
    return {
      reported: this.#reported,
      reportedFinal: this.#reportedFinal,
      outputBytes: this.#output.bytes,
      ...this.#terms.member(),
    };
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
        return this.#complete(parsedData(frame));
      case 'response.output_item.done':
        if (this.#itemType.endsWith('_call')) this.#countCall(parsedData(frame));
        return 'event';
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

  #complete(event: Json | undefined): Verdict {
    if (event === undefined) return this.#fail(brokenStream('The provider sent an event that is not JSON.'));
    const response = isObject(event) ? objectAt(event, 'response') : undefined;
    if (response === undefined) return 'terminal';
    if (isObject(response.usage)) {
      this.#reported = readResponsesTokens(response.usage);
      this.#reportedFinal = this.#reported !== null;
    }
    this.#terms.take(readResponsesTerms(response));
    this.#terms.calledInAll(objectsAt(response, 'output').map((item) => hostedCall('responses', item)));
    return 'terminal';
  }

  #countCall(event: Json | undefined): void {
    const item = isObject(event) ? objectAt(event, 'item') : undefined;
    if (item !== undefined) this.#terms.called(hostedCall('responses', item));
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
    this.#itemType = '';
    this.#output.startFrame();
    scanner.begin(frame.text, frame.dataStart, frame.dataEnd);
    while (scanner.next()) {
      if (scanner.depth === 1) this.#scanTop(scanner);
      else if (scanner.depth !== 2) continue;
      else if (scanner.topIs('response')) this.#scanResponse(scanner, edits);
      else if (scanner.keyIs('type') && scanner.topIs('item')) this.#itemType = scanner.valueText().slice(1, -1);
    }
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

  #scanResponse(scanner: MemberScanner, edits: EditList): void {
    if (scanner.keyIs('model')) {
      this.#model.put(scanner, edits);
    } else if (this.#responseId === null && scanner.keyIs('id') && scanner.isString) {
      const id = parseJson(scanner.valueText());
      if (typeof id === 'string') this.#responseId = id;
    } else if (this.#createdAtS === null && scanner.keyIs('created_at')) {
      const created = figure(Number(scanner.valueText()));
      if (typeof created === 'number') this.#createdAtS = created;
    }
  }
}

export function isResponsesAnswer(answer: JsonObject): boolean {
  return answer.object === 'response' && Array.isArray(answer.output) && answer.status !== 'failed';
}

export function responsesWholeMeter(answer: JsonObject): Meter {
  const reported = readResponsesTokens(answer.usage);
  const terms = new TermsReport();
  terms.take(readResponsesTerms(answer));
  let outputBytes = 0;
  for (const item of arrayAt(answer, 'output') ?? []) {
    if (!isObject(item)) continue;
    outputBytes += itemBytes(item);
    terms.called(hostedCall('responses', item));
  }
  return { reported, reportedFinal: reported !== null, outputBytes, ...terms.member() };
}

function itemBytes(item: JsonObject): number {
  let bytes = textBytes(item.arguments) + textBytes(item.input);
  for (const part of [...(arrayAt(item, 'content') ?? []), ...(arrayAt(item, 'summary') ?? [])]) {
    if (isObject(part)) bytes += textBytes(part.text) + textBytes(part.refusal);
  }
  return bytes;
}
