import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { arrayAt, isObject, type JsonObject, objectAt } from '../../src/lib/json.ts';
import { type AnswerSpec, streamedAnswer, wholeAnswer } from '../support/upstreams/answers.ts';
import { answerSpec } from './arbitrary.ts';
import { expected, said } from './content.ts';
import { DIRECTIONS, lane, MINIMAL, PUBLIC_MODEL, runStream, runWhole } from './run-lane.ts';
import { accumulate } from './sdk.ts';

const RUNS = { numRuns: 25 };
const USAGE_ASKED: JsonObject = { stream: true, stream_options: { include_usage: true } };

for (const [from, to] of DIRECTIONS) {
  describe(`a ${from} client of a ${to} target`, () => {
    const running = (): ReturnType<typeof lane> => lane(from, to, { ...MINIMAL[from], ...USAGE_ASKED });

    test('[R37] the official SDK accumulates the stream to what the whole answer holds', async () => {
      await fc.assert(
        fc.asyncProperty(answerSpec(to), async (spec) => {
          const whole = runWhole(running(), wholeAnswer(to, spec));
          const stream = runStream(running(), streamedAnswer(to, spec));
          assert.equal(stream.failure, null);
          const final = await accumulate(from, stream.text + stream.terminal);
          assert.deepEqual(said(from, whole.body), expected(from, spec));
          assert.deepEqual(said(from, final), expected(from, spec));
          assert.equal(final.model, PUBLIC_MODEL);
          assert.equal(final.id, whole.body.id);
          assert.deepEqual(ending(final), ending(whole.body));
          assert.deepEqual(usageOf(final), usageOf(whole.body));
        }),
        RUNS,
      );
    });

    test('any split of the byte stream gives the same bytes', () => {
      fc.assert(
        fc.property(answerSpec(to), fc.array(fc.nat(), { maxLength: 40 }), (spec, cuts) => {
          const upstream = streamedAnswer(to, spec);
          assert.deepEqual(runStream(running(), upstream, cuts), runStream(running(), upstream));
        }),
        RUNS,
      );
    });

    test('the meter reads the same usage from a stream and from a whole answer', () => {
      fc.assert(
        fc.property(answerSpec(to), (spec) => {
          const whole = runWhole(running(), wholeAnswer(to, spec)).meter;
          const stream = runStream(running(), streamedAnswer(to, spec)).meter;
          assert.deepEqual(whole.reported, spec.tokens);
          assert.deepEqual(stream.reported, spec.tokens);
          assert.equal(stream.reportedFinal, true);
          if (to !== 'messages') assert.equal(stream.outputBytes, whole.outputBytes);
        }),
        RUNS,
      );
    });

    test('[R50] a stream that is cut off before its finish reason is broken, never complete', () => {
      const spec: AnswerSpec = {
        blocks: [{ kind: 'text', pieces: ['one', 'two'] }],
        finish: 'stop',
        tokens: { input: 1, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, output: 2, reasoning: 0 },
      };
      const whole = streamedAnswer(to, spec);
      const run = runStream(running(), whole.slice(0, whole.indexOf('\n\n', whole.indexOf('one')) + 2));
      assert.equal(run.terminal, null);
      assert.equal(run.failure?.condition, 'upstream_error');
      assert.match(run.text, /one/);
    });

    test('an error frame after content fails the stream and keeps what was sent', () => {
      const spec: AnswerSpec = {
        blocks: [{ kind: 'text', pieces: ['one', 'two'] }],
        finish: 'stop',
        tokens: { input: 1, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, output: 2, reasoning: 0 },
      };
      const frames = to === 'chat' ? 2 : 5;
      const run = runStream(running(), streamedAnswer(to, { ...spec, errorAfterFrames: frames }));
      assert.equal(run.terminal, null);
      assert.equal(run.failure?.condition, 'provider_unavailable');
      assert.match(run.text, /one/);
    });
  });
}

function ending(body: JsonObject): unknown {
  const choice = (arrayAt(body, 'choices') ?? [])[0];
  return {
    chat: isObject(choice) ? choice.finish_reason : null,
    messages: body.stop_reason ?? null,
    responses: [body.status ?? null, body.incomplete_details ?? null],
  };
}

/** The SDK keeps the split of cache writes from `message_start`, where a target may not have told it yet. */
function usageOf(body: JsonObject): unknown {
  return { ...objectAt(body, 'usage'), cache_creation: null };
}
