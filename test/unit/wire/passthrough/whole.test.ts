import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { GatewayError } from '../../../../src/core/conditions.ts';
import { FORMATS } from '../../../../src/wire/formats.ts';
import { parseBody } from '../../../../src/wire/json/parse-request.ts';
import { wholeBytes } from '../../../../src/wire/lane.ts';
import { anyCharacter } from '../../../support/fuzz.ts';
import { completeResponse, type FormatName, laneFor, PUBLIC_MODEL, UPSTREAM_MODEL } from '../streams.ts';

const ORDER = { upstreamModel: UPSTREAM_MODEL, outputLimit: 64 };

function upstream(format: FormatName, text: string, outputLimitField?: 'max_completion_tokens') {
  const { bytes, body, layout } = parseBody(Buffer.from(text));
  const info = FORMATS[format].validateRequest(body, bytes, { betas: false });
  const lane = FORMATS[format].passthrough({ bytes, body, layout, info, publicModel: info.model, outputLimitField });
  return wholeBytes(lane.requestBody(ORDER)).toString();
}

describe('requestBody', () => {
  const messages = '"messages":[{"role":"user","content":"\\u00e9 1.0"}]';

  test('only model and the output limit are touched', () => {
    const text = `{ ${messages}, "temperature":1.0,"model":"m" }`;
    assert.equal(
      upstream('chat', text),
      `{"max_tokens":64, ${messages}, "temperature":1.0,"model":"${UPSTREAM_MODEL}" }`,
    );
    assert.equal(upstream('messages', text), upstream('chat', text));
    assert.equal(
      upstream('responses', '{"model":"m","input":"x","store":false}'),
      `{"max_output_tokens":64,"model":"${UPSTREAM_MODEL}","input":"x","store":false}`,
    );
  });

  test('[R65] the provider is asked not to store, unless it may', () => {
    assert.equal(
      upstream('responses', '{"model":"m","input":"x"}'),
      `{"max_output_tokens":64,"store":false,"model":"${UPSTREAM_MODEL}","input":"x"}`,
    );
    assert.match(upstream('responses', '{"model":"m","input":"x","store":true}'), /"input":"x","store":false\}$/);
    assert.match(upstream('chat', `{"model":"m",${messages},"store":true}`), /"store":false\}$/);
    assert.doesNotMatch(upstream('chat', `{"model":"m",${messages}}`), /store/);
    const bytes = Buffer.from(`{"model":"${UPSTREAM_MODEL}","max_output_tokens":64,"input":"x"}`);
    const { body, layout } = parseBody(bytes);
    const info = FORMATS.responses.validateRequest(body, bytes, { betas: false });
    const request = { bytes, body, layout, info, publicModel: UPSTREAM_MODEL, storesResponses: true };
    assert.equal(FORMATS.responses.passthrough(request).requestBody(ORDER), bytes);
  });

  test('a body that already says all of it is sent as it came', () => {
    const bytes = Buffer.from(`{"model":"${UPSTREAM_MODEL}","max_tokens":64,${messages}}`);
    const { body, layout } = parseBody(bytes);
    const info = FORMATS.messages.validateRequest(body, bytes, { betas: false });
    const lane = FORMATS.messages.passthrough({ bytes, body, layout, info, publicModel: UPSTREAM_MODEL });
    assert.equal(lane.requestBody(ORDER), bytes);
  });

  test('[R14] [R40] the limit goes into the one field that the target knows, whichever the client used', () => {
    assert.equal(
      upstream('chat', `{"model":"m",${messages},"max_completion_tokens":9000}`),
      `{"max_tokens":64,"model":"${UPSTREAM_MODEL}",${messages}}`,
    );
    assert.equal(
      upstream('chat', `{"max_tokens":7,"model":"m",${messages}}`, 'max_completion_tokens'),
      `{"max_completion_tokens":64,"model":"${UPSTREAM_MODEL}",${messages}}`,
    );
    const both = upstream('chat', `{"model":"m","max_tokens":64,${messages},"max_completion_tokens":64}`);
    assert.equal(both, `{"model":"${UPSTREAM_MODEL}","max_tokens":64,${messages}}`);
    assert.match(
      upstream('chat', `{"model":"m",${messages}}`, 'max_completion_tokens'),
      /^\{"max_completion_tokens":64,/,
    );
    assert.match(upstream('messages', `{"model":"m",${messages},"max_tokens":1e308}`), /"max_tokens":64\}$/);
  });

  test('[R39] streamed chat always asks for usage', () => {
    const options = (text: string) =>
      JSON.parse(upstream('chat', `{"model":"m",${messages},"stream":true${text}}`)).stream_options;
    assert.deepEqual(options(''), { include_usage: true });
    assert.deepEqual(options(',"stream_options":null'), { include_usage: true });
    assert.deepEqual(options(',"stream_options":{"x":1}'), { include_usage: true, x: 1 });
    assert.deepEqual(options(',"stream_options":{"include_usage":false}'), { include_usage: true });
    assert.equal(JSON.parse(upstream('chat', `{"model":"m",${messages}}`)).stream_options, undefined);
  });
});

describe('whole', () => {
  const answers: Record<FormatName, string> = {
    chat: `{"id":"1","choices":[{"message":{"content":"Hé","model":"x","tool_calls":[{"function":{"name":"n","arguments":"{}"}}]}}],"model": "${UPSTREAM_MODEL}","usage":{"prompt_tokens":10,"completion_tokens":4,"total_tokens":14,"prompt_tokens_details":{"cached_tokens":3}}}`,
    responses: JSON.stringify(
      completeResponse('completed', {
        output: [
          {
            id: 'm',
            type: 'message',
            status: 'completed',
            role: 'assistant',
            content: [{ type: 'output_text', text: 'Hé', annotations: [], logprobs: [] }],
          },
          { id: 'f', type: 'function_call', status: 'completed', call_id: 'c', name: 'n', arguments: '{}' },
        ],
        usage: {
          input_tokens: 10,
          input_tokens_details: { cached_tokens: 3, cache_write_tokens: 0 },
          output_tokens: 4,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 14,
        },
      }),
      null,
      1,
    ),
    messages: `{"id":"1","type":"message","model": "${UPSTREAM_MODEL}","content":[{"type":"text","text":"Hé"},{"type":"tool_use","name":"n","input":{}}],"usage":{"input_tokens":7,"cache_read_input_tokens":3,"output_tokens":4}}`,
  };

  const DEFAULT_TIER = { fields: { service_tier: 'default' }, calls: {}, parts: undefined, unusable: [] };

  for (const format of ['chat', 'responses', 'messages'] as const) {
    test(`[R38] ${format}: the client's model id, everything else untouched, usage read`, () => {
      const { body, meter } = laneFor(format).whole(Buffer.from(answers[format]));
      assert.equal(body.toString(), answers[format].replace(`"${UPSTREAM_MODEL}"`, JSON.stringify(PUBLIC_MODEL)));
      assert.deepEqual(meter, {
        reported: { input: 7, cacheRead: 3, cacheWrite: 0, cacheWrite1h: 0, output: 4, reasoning: 0 },
        reportedFinal: true,
        outputBytes: 6,
        ...(format === 'responses' ? { terms: DEFAULT_TIER } : {}),
      });
    });

    test(`[F17] ${format}: an error object, a page, cut JSON or another format's answer with status 200 is no answer`, () => {
      const other = answers[format === 'chat' ? 'messages' : 'chat'];
      const bad = [
        '{"error":{"message":"boom"}}',
        '<html></html>',
        answers[format].slice(0, -9),
        '{"id":"1","choices":[]}',
        '[]',
        'null',
        '',
        other,
      ];
      for (const text of bad) {
        assert.throws(
          () => laneFor(format).whole(Buffer.from(text)),
          (error) => error instanceof GatewayError && error.condition === 'upstream_error',
        );
      }
    });

    test(`[F18] ${format}: nonsense in place of usage counts as not reported`, () => {
      for (const bad of ['-4', '4.5', '"4"', '9007199254740992', '1e999', 'null']) {
        const text = answers[format].replace(/("(completion|output)_tokens": ?)4/, `$1${bad}`);
        const { meter } = laneFor(format).whole(Buffer.from(text));
        assert.deepEqual([meter.reported, meter.reportedFinal, meter.outputBytes], [null, false, 6]);
      }
    });
  }
});

const anyText = fc.oneof(fc.string({ maxLength: 20 }), fc.string({ unit: anyCharacter, maxLength: 20 }));

test('[R38] a whole answer is renamed wherever its model stands, and nothing else of it changes', () => {
  fc.assert(
    fc.property(anyText, anyText, fc.boolean(), (content, id, modelLast) => {
      const answer = (model: string): string => {
        const head = modelLast ? { id } : { id, model };
        const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
        return JSON.stringify({ ...head, choices, ...(modelLast ? { model } : {}) });
      };
      const { body } = laneFor('chat', {}).whole(Buffer.from(answer(UPSTREAM_MODEL)));
      assert.equal(body.toString(), answer(PUBLIC_MODEL));
    }),
    { numRuns: 200, seed: 38 },
  );
});
