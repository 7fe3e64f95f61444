/**
 * Responses objects are complete for every client. A provider whose objects or events are not is read and written
 * anew; whether it is shows in its first event, before which the client has seen nothing.
 */
import type { TokenCounts } from '../../core/usage.ts';
import { isObject, type Json, type JsonObject, parseJson } from '../../lib/json.ts';
import type { Answers } from '../answers.ts';
import type { Lane, LaneStep, LaneStream, Meter, StreamPosition } from '../lane.ts';
import { FrameSplitter, joinedData } from '../sse.ts';
import { isErrorShape } from '../upstream-failure.ts';

/** What the official clients read without asking whether it is there. */
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

/**
 * `rewrite` gives what reads and rewrites answers; it is only called when that is needed. The output limit is the
 * one that was sent upstream: the response object states it.
 */
export function fillMissingFieldsLane(passthrough: Lane, rewrite: (outputLimit: number | null) => Answers): Lane {
  let outputLimit: number | null = null;
  return {
    kind: 'passthrough',
    requestBody(params) {
      outputLimit = params.outputLimit;
      return passthrough.requestBody(params);
    },
    whole(answer) {
      const parsed = parseJson(answer.toString());
      return isObject(parsed) && parsed.error == null && parsed.object === 'response' && !isCompleteWhole(parsed)
        ? rewrite(outputLimit).whole(answer)
        : passthrough.whole(answer);
    },
    stream: () => new FillingStream(passthrough.stream(), () => rewrite(outputLimit).stream()),
  };
}

class FillingStream implements LaneStream {
  #lane: LaneStream;
  readonly #rewrite: () => LaneStream;
  #splitter: FrameSplitter | null = new FrameSplitter();
  #seen: Buffer[] = [];

  constructor(passthrough: LaneStream, rewrite: () => LaneStream) {
    this.#lane = passthrough;
    this.#rewrite = rewrite;
  }

  push(chunk: Buffer): LaneStep {
    if (this.#splitter === null) return this.#lane.push(chunk);
    const first = firstEvent(this.#splitter, chunk);
    if (first === null) {
      this.#seen.push(chunk);
      // Nothing is forwarded before the first event, so the lane that is fed here can still be left.
      return this.#lane.push(chunk);
    }
    this.#splitter = null;
    if (isCompleteEvent(first)) return this.#lane.push(chunk);
    this.#lane = this.#rewrite();
    const bytes = Buffer.concat([...this.#seen, chunk]);
    this.#seen = [];
    return this.#lane.push(bytes);
  }

  end(): LaneStep {
    return this.#lane.end();
  }

  terminal(): Buffer {
    return this.#lane.terminal();
  }

  meter(): Meter {
    return this.#lane.meter();
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
    if (splitter.dataLines > 0) return parseJson(joinedData(splitter));
  }
  return null;
}

/** What cannot be judged is left to the passthrough lane, which knows how to fail. */
function isCompleteEvent(event: Json | undefined): boolean {
  if (!isObject(event) || isErrorShape(event) || event.type === 'response.failed') return true;
  return typeof event.sequence_number === 'number' && isObject(event.response) && isComplete(event.response);
}

/** Usage is null until the end, so only a whole answer lacks it where it is not an object. */
function isCompleteWhole(response: JsonObject): boolean {
  return isComplete(response) && isObject(response.usage);
}

function isComplete(response: JsonObject): boolean {
  return REQUIRED.every((name) => name in response);
}
