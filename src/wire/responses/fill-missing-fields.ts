/**
 * Responses objects and events are complete for every client. Fields that a provider leaves out are filled in while its
 * answer passes. A stream whose first event lacks what every server of this format sends is read and rewritten instead,
 * because such a server leaves out whole events too; the client has seen nothing before that event.
 */
import type { TokenCounts } from '../../core/usage.ts';
import { isObject, type Json, type JsonObject } from '../../lib/json.ts';
import type { Answers } from '../answers.ts';
import type { PassthroughRequest } from '../format.ts';
import { parseAnswer } from '../json/answer-values.ts';
import type { Lane, LaneStep, LaneStream, Meter, StreamPosition, WholeAnswer } from '../lane.ts';
import type { OutputSample } from '../output-sample.ts';
import { type PassthroughFormat, passthroughLane } from '../passthrough/passthrough.ts';
import { meterWhole } from '../passthrough/whole-answer.ts';
import { FrameSplitter, parsedData } from '../sse.ts';
import { isErrorShape } from '../upstream-failure.ts';
import { completeResponse } from './complete.ts';
import type { ResponsesObserverOptions } from './observe.ts';

/** Members that the official clients read without checking whether they are there. */
const REQUIRED = [
  'id',
  'created_at',
  'error',
  'incomplete_details',
  'instructions',
  'metadata',
  'model',
  'output',
  'parallel_tool_calls',
  'temperature',
  'tool_choice',
  'tools',
  'top_p',
] as const;

interface Repair {
  /** What fields are filled in with. */
  completion(outputLimit: number | null): ResponsesObserverOptions;
  /** Reads and rewrites answers; only called when that is needed. */
  rewrite(outputLimit: number | null): Answers;
}

/** The output limit is the one that was sent upstream: the response object states it. */
export function fillMissingFieldsLane(request: PassthroughRequest, format: PassthroughFormat, repair: Repair): Lane {
  const passthrough = passthroughLane(request, format);
  /** The whole answer with every field; null where it has them already, or is not an answer. */
  const completed = (answer: JsonObject): WholeAnswer | null => {
    if (!format.isAnswer(answer)) return null;
    const options = repair.completion(outputLimit);
    const complete = completeResponse(answer, options);
    if (complete === answer && isObject(answer.usage)) return null;
    const metered = meterWhole(answer, request, format);
    const usage = isObject(complete.usage) ? complete.usage : options.placeholderUsage(metered.meter.outputBytes);
    return { body: Buffer.from(JSON.stringify({ ...complete, model: request.publicModel, usage })), ...metered };
  };
  let outputLimit: number | null = null;
  return {
    kind: 'passthrough',
    requestBody(params) {
      outputLimit = params.outputLimit;
      return passthrough.requestBody(params);
    },
    whole(answer) {
      const parsed = parseAnswer(answer);
      return (isObject(parsed) ? completed(parsed) : null) ?? passthrough.whole(answer);
    },
    stream: () => new FillingStream(passthrough.stream(), () => repair.rewrite(outputLimit).stream()),
  };
}

class FillingStream implements LaneStream {
  #lane: LaneStream;
  /** Until the first event is whole. The other lane has the request. */
  #undecided: { readonly splitter: FrameSplitter; readonly rewrite: () => LaneStream } | null;
  #seen: Buffer[] = [];
  #covered = Number.POSITIVE_INFINITY;

  constructor(passthrough: LaneStream, rewrite: () => LaneStream) {
    this.#lane = passthrough;
    this.#undecided = { splitter: new FrameSplitter(), rewrite };
  }

  push(chunk: Buffer): LaneStep {
    if (this.#undecided === null) return this.#lane.push(chunk);
    const { splitter, rewrite } = this.#undecided;
    const first = firstEvent(splitter, chunk);
    if (first === null) {
      this.#seen.push(chunk);
      // Nothing is forwarded before the first event, so the lane that is fed here can still be left.
      return this.#lane.push(chunk);
    }
    this.#undecided = null;
    if (isCompleteEvent(first)) return this.#lane.push(chunk);
    this.#lane = rewrite();
    this.#lane.cover(this.#covered);
    if (this.#covered !== Number.POSITIVE_INFINITY) this.#lane.sample?.()?.widen();
    const bytes = Buffer.concat([...this.#seen, chunk]);
    this.#seen = [];
    return this.#lane.push(bytes);
  }

  cover(outputBytes: number): void {
    this.#covered = outputBytes;
    this.#lane.cover(outputBytes);
  }

  get uncovered(): boolean {
    return this.#lane.uncovered;
  }

  get uncoveredBytes(): number {
    return this.#lane.uncoveredBytes;
  }

  letOut(): LaneStep {
    return this.#lane.letOut();
  }

  end(): LaneStep {
    return this.#lane.end();
  }

  terminal(counted: TokenCounts | null = null): Buffer {
    return this.#lane.terminal(counted);
  }

  meter(): Meter {
    return this.#lane.meter();
  }

  get outputBytes(): number {
    return this.#lane.outputBytes;
  }

  sample(): OutputSample | null {
    return this.#lane.sample?.() ?? null;
  }

  cutShort(tokens: TokenCounts): LaneStep {
    return this.#lane.cutShort?.(tokens) ?? this.#lane.end();
  }

  early(): boolean {
    return this.#lane.early?.() ?? false;
  }

  betweenFrames(): boolean {
    return this.#lane.betweenFrames?.() ?? true;
  }

  position(): StreamPosition | null {
    return this.#lane.position?.() ?? null;
  }
}

/** The data of the first event that carries data; null while none is complete. */
function firstEvent(splitter: FrameSplitter, chunk: Buffer): Json | undefined | null {
  splitter.feed(chunk);
  while (splitter.next()) {
    if (splitter.raw) return undefined;
    if (splitter.dataLines > 0) return parsedData(splitter);
  }
  return null;
}

/** An answer that cannot be judged is left to the passthrough lane, which knows how to fail. */
function isCompleteEvent(event: Json | undefined): boolean {
  if (!isObject(event) || isErrorShape(event) || event.type === 'response.failed') return true;
  return typeof event.sequence_number === 'number' && isObject(event.response) && isComplete(event.response);
}

function isComplete(response: JsonObject): boolean {
  return REQUIRED.every((name) => name in response);
}
