/** A lane driven as the exchange drives it. */

import type { Format } from '../../src/core/endpoints.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { FORMATS as WIRE_FORMATS } from '../../src/wire/formats.ts';
import { parseBody } from '../../src/wire/json/parse-request.ts';
import { type Lane, type LaneFailure, type LaneWithWarnings, type Meter, wholeBytes } from '../../src/wire/lane.ts';
import { rewrittenAnswers } from '../../src/wire/rewritten-answers.ts';
import { type TranslateRequest, translateLane } from '../../src/wire/translate-lane.ts';

export const FORMATS: readonly Format[] = ['chat', 'responses', 'messages'];

/** Every way from a client's format to a target's, the rewriting of one's own included. */
export const DIRECTIONS: readonly (readonly [from: Format, to: Format])[] = FORMATS.flatMap((from) =>
  FORMATS.map((to) => [from, to] as const),
);
export const CROSSINGS = DIRECTIONS.filter(([from, to]) => from !== to);

export const PUBLIC_MODEL = 'public/model';
export const OUTPUT_LIMIT = 4096;

export const MINIMAL: Readonly<Record<Format, JsonObject>> = {
  chat: { model: 'm', messages: [{ role: 'user', content: 'Hi' }] },
  responses: { model: 'm', input: 'Hi' },
  messages: { model: 'm', max_tokens: 1024, messages: [{ role: 'user', content: 'Hi' }] },
};

type LaneOptions = Partial<Omit<TranslateRequest, 'from' | 'to' | 'body'>>;

/** The lane that reads and writes answers anew; between two formats it translates the request too. */
export function lane(from: Format, to: Format, body: JsonObject, more: LaneOptions = {}): LaneWithWarnings {
  const options = {
    publicModel: PUBLIC_MODEL,
    likelyInputTokens: () => 7,
    nowS: () => 1_700_000_100,
    answerId: 'answer1',
    ...more,
  };
  if (from !== to) return translateLane({ ...options, from: WIRE_FORMATS[from], to: WIRE_FORMATS[to], body });
  const format = WIRE_FORMATS[from];
  const parsed = parseBody(Buffer.from(JSON.stringify(body)));
  const info = format.validateRequest(parsed.body, parsed.bytes, { betas: true });
  const request = { ...options, ...parsed, info };
  const passthrough = format.passthrough(request);
  return { ...passthrough, warnings: [], ...rewrittenAnswers(format, request, () => OUTPUT_LIMIT) };
}

/** The upstream body that the request becomes. */
export function upstreamBody(from: Format, to: Format, body: JsonObject, more: LaneOptions = {}): JsonObject {
  const bytes = lane(from, to, body, more).requestBody({ upstreamModel: 'up', outputLimit: OUTPUT_LIMIT });
  return JSON.parse(wholeBytes(bytes).toString());
}

export interface StreamRun {
  readonly text: string;
  readonly terminal: string | null;
  readonly failure: LaneFailure | null;
  readonly meter: Meter;
}

/** Feeds the stream in chunks that end at these offsets and takes the terminal part where the answer is complete. */
export function runStream(running: Lane, upstream: string, cuts: readonly number[] = []): StreamRun {
  const bytes = Buffer.from(upstream);
  const stream = running.stream();
  let text = '';
  let last = stream.push(Buffer.alloc(0));
  let from = 0;
  for (const to of [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))]
    .sort((a, b) => a - b)
    .concat(bytes.length)) {
    last = stream.push(bytes.subarray(from, to));
    text += last.forward?.toString() ?? '';
    from = to;
  }
  if (last.state === 'waiting' || last.state === 'open') {
    last = stream.end();
    text += last.forward?.toString() ?? '';
  }
  const terminal = last.state === 'complete' ? stream.terminal().toString() : null;
  return { text, terminal, failure: last.failure, meter: stream.meter() };
}

export function runWhole(running: Lane, answer: object): { readonly body: JsonObject; readonly meter: Meter } {
  const { body, meter } = running.whole(Buffer.from(JSON.stringify(answer)));
  return { body: JSON.parse(body.toString()), meter };
}
