/**
 * The golden matrix: every conversation in every direction, whole and streamed, as text under golden/. Each file holds
 * what comes in on both sides and what goes out on both sides, so that a diff can be reviewed by itself.
 * `UPDATE_GOLDEN=1 node --test test/translate/golden.test.ts` regenerates the files.
 */

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { GatewayError } from '../../src/core/conditions.ts';
import type { Format } from '../../src/core/endpoints.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { type LaneWithWarnings, wholeBytes } from '../../src/wire/lane.ts';
import { assertEvents, assertResponse } from '../support/open-responses.ts';
import { type AnswerSpec, streamedAnswer, wholeAnswer } from '../support/upstreams/answers.ts';
import { events } from './answer-helpers.ts';
import type { Conversation } from './conversations/conversation.ts';
import { nextTurn } from './conversations/next-turn.ts';
import { CONVERSATIONS } from './conversations.ts';
import { CROSSINGS, lane, OUTPUT_LIMIT, runStream, runWhole } from './run-lane.ts';

const FOLDER = new URL('golden/', import.meta.url);
const updating = process.env.UPDATE_GOLDEN === '1';

for (const conversation of CONVERSATIONS) {
  describe(`the conversation "${conversation.name}"`, () => {
    for (const [from, to] of CROSSINGS) {
      if (conversation.requests[from] === undefined) continue;
      test(`[R37] reads the same as recorded for a ${from} client of a ${to} target`, () => {
        const file = new URL(`${conversation.name}/${from}-to-${to}.txt`, FOLDER);
        const written = transcript(conversation, from, to);
        if (updating) {
          mkdirSync(new URL('.', file), { recursive: true });
          writeFileSync(file, written);
        }
        assert.equal(written, readFileSync(file, 'utf8'));
      });
    }
  });
}

test('every golden file belongs to a conversation', () => {
  const expected = CONVERSATIONS.flatMap(({ name, requests }) =>
    CROSSINGS.filter(([from]) => requests[from] !== undefined).map(([from, to]) => `${name}/${from}-to-${to}.txt`),
  );
  const found = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.txt'));
  assert.deepEqual(found.sort(), expected.sort());
});

function transcript(conversation: Conversation, from: Format, to: Format): string {
  let request = conversation.requests[from] ?? {};
  const sections: string[] = [];
  for (const [turn, answer] of [conversation.answer, ...(conversation.later ?? [])].entries()) {
    if (turn > 0) sections.push(section(`turn ${turn + 1}`, ''));
    const sent = sending(request, from, to);
    sections.push(...sent.sections);
    if (sent.lane === null) break;
    const played = answering(sent.lane, answer, { request, from, to, byteByByte: conversation.byteByByte === true });
    sections.push(...played.sections);
    if (played.body !== null) request = nextTurn(from, request, played.body);
  }
  for (const { what, requests } of conversation.variants ?? []) {
    const varied = requests[from];
    if (varied !== undefined) sections.push(section(`with ${what}`, ''), ...sending(varied, from, to).sections);
  }
  return sections.join('\n');
}

interface Sent {
  readonly sections: readonly string[];
  /** Null where the request is refused. */
  readonly lane: LaneWithWarnings | null;
}

function sending(request: JsonObject, from: Format, to: Format): Sent {
  const asked = section('what the client sends', pretty(request));
  try {
    const whole = lane(from, to, request);
    const body = wholeBytes(whole.requestBody({ upstreamModel: 'upstream-model', outputLimit: OUTPUT_LIMIT }));
    return {
      sections: [
        asked,
        section('what the provider is sent', pretty(JSON.parse(body.toString()))),
        section('what is left out', whole.warnings.join('\n') || '(nothing)'),
      ],
      lane: whole,
    };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const told = `${error.condition} at ${error.param ?? '(no field)'}: ${error.message}`;
    return { sections: [asked, section('what the client is told', told)], lane: null };
  }
}

interface Asked {
  readonly request: JsonObject;
  readonly from: Format;
  readonly to: Format;
  readonly byteByByte: boolean;
}

function answering(
  whole: LaneWithWarnings,
  spec: AnswerSpec,
  { request, from, to, byteByByte }: Asked,
): { readonly sections: readonly string[]; readonly body: JsonObject | null } {
  const streamed = lane(from, to, { ...request, stream: true, stream_options: { include_usage: true } });
  const answer = spec.errorAfterFrames === undefined ? wholeAnswer(to, spec) : null;
  const body = answer === null ? null : runWhole(whole, answer).body;
  const stream = streamedAnswer(to, spec);
  if (from === 'responses' && body !== null) assertResponse(body);
  const cuts = byteByByte ? Array.from(Buffer.from(stream).keys()) : [];
  const run = runStream(streamed, stream, cuts);
  if (from === 'responses') assertEvents(events(run.text + (run.terminal ?? '')));
  return {
    sections: [
      section('what the provider answers, whole', answer === null ? '(none)' : pretty(answer)),
      section('what the client gets, whole', body === null ? '(none)' : pretty(body)),
      section('what the provider answers, streamed', shortened(stream.trimEnd())),
      section('what the client gets, streamed', shortened(run.text.trimEnd())),
      section('the terminal part', shortened(run.terminal?.trimEnd() ?? `(failed) ${pretty(run.failure)}`)),
      section('the meter', pretty(run.meter)),
    ],
    body,
  };
}

function section(title: string, text: string): string {
  return `===== ${title}\n${text}\n`;
}

function pretty(value: unknown): string {
  return shortened(JSON.stringify(value, null, 2));
}

/** Strings that nobody reads to the end are shown by their beginning and what identifies the rest. */
function shortened(text: string): string {
  return text.replaceAll(/(?<="|: )[^"\n]{5000,}(?=")/g, (long) => {
    return `${long.slice(0, 40)}… (${long.length} characters, ${hash('sha256', long, 'hex').slice(0, 12)})`;
  });
}
