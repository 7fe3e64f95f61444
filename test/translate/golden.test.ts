/**
 * The golden matrix: every conversation in every direction, whole and streamed, as text under golden/. Each file holds
 * what comes in on both sides and what goes out on both sides, so that a diff can be reviewed by itself.
 * `UPDATE_GOLDEN=1 node --test test/translate/golden.test.ts` regenerates the files.
 */

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { Format } from '../../src/core/endpoints.ts';
import { wholeBytes } from '../../src/wire/lane.ts';
import { streamedAnswer, wholeAnswer } from '../support/upstreams/answers.ts';
import { CONVERSATIONS, type Conversation } from './conversations.ts';
import { CROSSINGS, lane, OUTPUT_LIMIT, runStream, runWhole } from './run-lane.ts';

const FOLDER = new URL('golden/', import.meta.url);
const updating = process.env.UPDATE_GOLDEN === '1';

for (const conversation of CONVERSATIONS) {
  describe(`the conversation "${conversation.name}"`, () => {
    for (const [from, to] of CROSSINGS) {
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

function transcript(conversation: Conversation, from: Format, to: Format): string {
  const request = conversation.requests[from];
  const whole = lane(from, to, request);
  const upstream = JSON.parse(
    wholeBytes(whole.requestBody({ upstreamModel: 'upstream-model', outputLimit: OUTPUT_LIMIT })).toString(),
  );
  const streamed = lane(from, to, { ...request, stream: true, stream_options: { include_usage: true } });
  const answer = conversation.answer.errorAfterFrames === undefined ? wholeAnswer(to, conversation.answer) : null;
  const stream = streamedAnswer(to, conversation.answer);
  const run = runStream(streamed, stream);
  return [
    section('what the client sends', pretty(request)),
    section('what the provider is sent', pretty(upstream)),
    section('what is left out', whole.warnings.join('\n') || '(nothing)'),
    section('what the provider answers, whole', answer === null ? '(none)' : pretty(answer)),
    section('what the client gets, whole', answer === null ? '(none)' : pretty(runWhole(whole, answer).body)),
    section('what the provider answers, streamed', stream.trimEnd()),
    section('what the client gets, streamed', run.text.trimEnd()),
    section('the terminal part', run.terminal?.trimEnd() ?? `(failed) ${pretty(run.failure)}`),
    section('the meter', pretty(run.meter)),
  ].join('\n');
}

function section(title: string, text: string): string {
  return `===== ${title}\n${text}\n`;
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
