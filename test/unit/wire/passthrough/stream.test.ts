import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  CHAT_CONTENT,
  CHAT_OUTPUT_BYTES,
  CHAT_STREAM,
  chatUsageChunk,
  type FormatName,
  laneFor,
  MESSAGES_OUTPUT_BYTES,
  MESSAGES_STREAM,
  PUBLIC_MODEL,
  published,
  RESPONSES_OUTPUT_BYTES,
  RESPONSES_STREAM,
  run,
  STREAMS,
  UPSTREAM_MODEL,
} from '../streams.ts';

const ASKED = { stream: true, stream_options: { include_usage: true } };

describe('every format, cut anywhere', () => {
  const formats: FormatName[] = ['chat', 'responses', 'messages'];
  const cases = formats.flatMap((format) => ['\n', '\r\n', '\r'].map((lineEnd) => ({ format, lineEnd })));
  for (const { format, lineEnd } of cases) {
    test(`[F19] ${format} with ${JSON.stringify(lineEnd)}: whatever the cut, the bytes give the same bytes, meter and state`, () => {
      const bytes = Buffer.from(STREAMS[format].join('').replaceAll('\n', lineEnd));
      const lane = laneFor(format, { stream: true });
      const whole = run(lane.stream(), [bytes]);
      assert.equal(whole.state, 'complete');
      const single = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
      assert.deepEqual(run(lane.stream(), single), whole);
      const cuts = fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 12 });
      fc.assert(
        fc.property(cuts, (points) => {
          const sorted = [0, ...points.sort((a, b) => a - b), bytes.length];
          const chunks = sorted.slice(1).map((end, i) => bytes.subarray(sorted[i], end));
          assert.deepEqual(run(lane.stream(), chunks), whole);
        }),
        { numRuns: 150 },
      );
    });
  }
});

describe('chat', () => {
  test('[R38] [R51] [R39] bytes pass untouched but for the model; usage chunk and [DONE] wait', () => {
    const result = run(laneFor('chat', ASKED).stream(), [CHAT_STREAM.join('')]);
    assert.equal(result.forwarded, published(CHAT_CONTENT.join('')));
    assert.equal(result.terminal, published(`${chatUsageChunk()}data: [DONE]\n\n`));
    assert.deepEqual(result.meter.reported, {
      input: 70,
      cacheRead: 30,
      cacheWrite: 0,
      cacheWrite1h: 0,
      output: 20,
      reasoning: 5,
    });
    assert.equal(result.meter.reportedFinal, true);
    assert.equal(result.meter.outputBytes, CHAT_OUTPUT_BYTES);
  });

  test('[R39] the usage chunk that the client did not ask for is removed again, and metered', () => {
    const result = run(laneFor('chat', { stream: true }).stream(), CHAT_STREAM);
    assert.equal(result.forwarded, published(CHAT_CONTENT.join('')));
    assert.equal(result.terminal, 'data: [DONE]\n\n');
    assert.equal(result.meter.reported?.output, 20);
  });

  test('[R39] a chunk with content keeps its usage', () => {
    const chunk = `data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n`;
    const result = run(laneFor('chat', { stream: true }).stream(), [chunk, 'data: [DONE]\n\n']);
    assert.equal(result.forwarded, chunk);
    assert.equal(result.meter.reported?.output, 2);
    assert.equal(result.meter.reportedFinal, true);
  });

  test('chunks without choices pass, before, between and behind the others', () => {
    const none = `data: ${JSON.stringify({ id: 'c1', model: PUBLIC_MODEL, choices: [], prompt_filter_results: [] })}\n\n`;
    const chunks = CHAT_CONTENT.flatMap((chunk) => [none, chunk]);
    const passed = run(laneFor('chat', { stream: true }).stream(), [...chunks, none, 'data: [DONE]\n\n']);
    assert.deepEqual([passed.state, passed.meter.outputBytes], ['complete', CHAT_OUTPUT_BYTES]);
    assert.equal(passed.forwarded, published([...chunks, none].join('')));
  });

  test('complete frames that need no edit are forwarded without a copy', () => {
    const stream = laneFor('chat', { stream: true }, UPSTREAM_MODEL).stream();
    const first = Buffer.from(CHAT_CONTENT.slice(0, 2).join(''));
    assert.deepEqual(stream.push(first).forward, first);
    const chunk = Buffer.from(CHAT_CONTENT.slice(2).join(''));
    const { forward } = stream.push(chunk);
    assert.equal(forward?.buffer, chunk.buffer);
    assert.equal(forward?.byteOffset, chunk.byteOffset);
    assert.equal(forward?.length, chunk.length);
  });

  test('[R50] a stream with its finish reason but no [DONE] is complete: the frame is added', () => {
    const result = run(laneFor('chat', ASKED).stream(), CHAT_CONTENT);
    assert.equal(result.state, 'complete');
    assert.equal(result.terminal, 'data: [DONE]\n\n');
    const unfinished = run(laneFor('chat', ASKED).stream(), CHAT_CONTENT.slice(0, -1));
    assert.equal(unfinished.state, 'failed');
    assert.equal(unfinished.failure?.condition, 'upstream_error');
    assert.equal(unfinished.forwarded, published(CHAT_CONTENT.slice(0, -1).join('')));
  });

  test('[R50] with n answers, all must have finished', () => {
    assert.equal(run(laneFor('chat', { stream: true, n: 2 }).stream(), CHAT_CONTENT).state, 'failed');
  });

  test('[F19] a last frame without its blank line counts', () => {
    const result = run(laneFor('chat', { stream: true }).stream(), [CHAT_STREAM.join('').trimEnd()]);
    assert.equal(result.state, 'complete');
    assert.equal(result.terminal, 'data: [DONE]\n\n');
  });

  for (const [delta, patched] of [
    ['{"role":"assistant"}', '{"content":"","role":"assistant"}'],
    ['{"role":"assistant","content":null}', '{"role":"assistant","content":""}'],
    ['{}', '{"role":"assistant","content":""}'],
    ['{ "content" : "Hi" }', '{"role":"assistant", "content" : "Hi" }'],
    ['{"content":"","role":"assistant"}', '{"content":"","role":"assistant"}'],
  ] as const) {
    test(`[R41] first delta ${delta} becomes ${patched}; later ones stay`, () => {
      const frame = (text: string, model: string) =>
        `data: {"id":"1","choices":[{"index":0,"delta":${text},"finish_reason":null}],"model":${JSON.stringify(model)}}\n\n`;
      const result = run(laneFor('chat', { stream: true }).stream(), [
        frame(delta, UPSTREAM_MODEL) + frame('{"content":null}', UPSTREAM_MODEL),
      ]);
      assert.equal(result.forwarded, frame(patched, PUBLIC_MODEL) + frame('{"content":null}', PUBLIC_MODEL));
    });
  }

  test('[F19] data over several lines is understood, and only rewritten when it must be', () => {
    const frame = (model: string) =>
      `data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"x"},"finish_reason":"stop"}],\ndata: "model":${JSON.stringify(model)}}\n\n`;
    const same = run(laneFor('chat', { stream: true }).stream(), [frame(PUBLIC_MODEL)]);
    assert.equal(same.forwarded, frame(PUBLIC_MODEL));
    assert.equal(same.state, 'complete');
    const other = run(laneFor('chat', { stream: true }).stream(), [frame(UPSTREAM_MODEL)]);
    assert.equal(JSON.parse(other.forwarded.slice(6)).model, PUBLIC_MODEL);
  });

  test('[F19] one giant line flows on in bounded memory, bytes intact, and is counted', () => {
    const text = 'é'.repeat(100_000);
    const head = CHAT_STREAM[1] ?? '';
    const giant = `data: {"id":"1","model":${JSON.stringify(UPSTREAM_MODEL)},"choices":[{"index":0,"delta":{"content":"${text}"},"finish_reason":null}]}\n\n`;
    const bytes = Buffer.from(head + giant + CHAT_STREAM.slice(-3).join(''));
    const stream = laneFor('chat', { stream: true }).stream();
    const forwarded: Buffer[] = [];
    let kept = 0;
    let state = '';
    for (let at = 0; at < bytes.length; at += 4096) {
      const chunk = bytes.subarray(at, at + 4096);
      const step = stream.push(chunk);
      kept += chunk.length - (step.forward?.length ?? 0);
      assert.ok(kept < 80 * 1024, `keeps ${kept} bytes`);
      if (step.forward !== null) forwarded.push(step.forward);
      state = step.state;
    }
    assert.equal(state, 'complete');
    assert.equal(Buffer.concat(forwarded).toString(), published(head + giant + CHAT_STREAM.at(-3)));
    const { outputBytes, reported } = stream.meter();
    assert.ok(outputBytes >= 200_000 && outputBytes < 200_200, String(outputBytes));
    assert.equal(reported?.output, 20);
  });
});

describe('responses', () => {
  test('[R38] [R51] only response.model changes, and the completed event waits', () => {
    const result = run(laneFor('responses', { stream: true }).stream(), RESPONSES_STREAM);
    assert.equal(result.forwarded, published(RESPONSES_STREAM.slice(0, -1).join('')));
    assert.equal(result.terminal, published(RESPONSES_STREAM.at(-1) ?? ''));
    assert.deepEqual(result.meter, {
      reported: { input: 40, cacheRead: 10, cacheWrite: 0, cacheWrite1h: 0, output: 9, reasoning: 4 },
      reportedFinal: true,
      outputBytes: RESPONSES_OUTPUT_BYTES,
      terms: { fields: { service_tier: 'default' }, calls: {}, parts: undefined, unusable: [] },
    });
  });

  test('[R50] a completed event cannot be invented', () => {
    const stream = laneFor('responses', { stream: true }).stream();
    const result = run(stream, RESPONSES_STREAM.slice(0, -1));
    assert.equal(result.state, 'failed');
    const position = stream.position?.();
    assert.deepEqual(
      [position?.nextSequence, position?.response().id, position?.response().created_at],
      [9, 'resp_1', 7],
    );
  });

  test('[R51] a completed event of any size is kept back whole', () => {
    const big = (RESPONSES_STREAM.at(-1) ?? '').replace(
      '"logprobs":[]',
      `"logprobs":[{"token":"${'x'.repeat(300_000)}"}]`,
    );
    const bytes = Buffer.from(RESPONSES_STREAM.slice(0, -1).join('') + big);
    const chunks = Array.from({ length: Math.ceil(bytes.length / 9000) }, (_, i) =>
      bytes.subarray(i * 9000, i * 9000 + 9000),
    );
    const result = run(laneFor('responses', { stream: true }).stream(), chunks);
    assert.equal(result.forwarded, published(RESPONSES_STREAM.slice(0, -1).join('')));
    assert.equal(result.terminal, published(big));
    assert.equal(result.meter.reported?.output, 9);
  });

  test('response.incomplete completes the answer', () => {
    const last = (RESPONSES_STREAM.at(-1) ?? '').replaceAll('response.completed', 'response.incomplete');
    assert.equal(
      run(laneFor('responses', { stream: true }).stream(), [...RESPONSES_STREAM.slice(0, -1), last]).state,
      'complete',
    );
  });
});

describe('messages', () => {
  test('[R38] [R51] only message.model changes, and message_stop waits', () => {
    const result = run(laneFor('messages', { stream: true }).stream(), MESSAGES_STREAM);
    assert.equal(result.forwarded, published(MESSAGES_STREAM.slice(0, -1).join('')));
    assert.equal(result.terminal, MESSAGES_STREAM.at(-1));
    assert.deepEqual(result.meter, {
      reported: { input: 11, cacheRead: 7, cacheWrite: 15, cacheWrite1h: 25, output: 33, reasoning: 0 },
      reportedFinal: true,
      outputBytes: MESSAGES_OUTPUT_BYTES,
    });
  });

  test('[R50] message_stop is added after the stop reason, and only then', () => {
    const added = run(laneFor('messages', { stream: true }).stream(), MESSAGES_STREAM.slice(0, -1));
    assert.equal(added.state, 'complete');
    assert.equal(added.terminal, MESSAGES_STREAM.at(-1));
    const cut = run(laneFor('messages', { stream: true }).stream(), MESSAGES_STREAM.slice(0, 5));
    assert.equal(cut.state, 'failed');
  });

  test('the input that a cut stream reported at its start is known, and not taken for the whole', () => {
    const { meter } = run(laneFor('messages', { stream: true }).stream(), MESSAGES_STREAM.slice(0, 5));
    assert.equal(meter.reported?.input, 11);
    assert.equal(meter.reportedFinal, false);
    assert.equal(meter.outputBytes, Buffer.byteLength('hm\nFüße'));
  });

  test('pings before the first event wait for it', () => {
    const stream = laneFor('messages', { stream: true }).stream();
    const ping = Buffer.from('event: ping\ndata: {"type":"ping"}\n\n');
    assert.deepEqual(stream.push(ping), { forward: null, state: 'waiting', failure: null });
    const step = stream.push(Buffer.from(MESSAGES_STREAM[0] ?? ''));
    assert.equal(step.state, 'open');
    assert.equal(step.forward?.toString(), ping + published(MESSAGES_STREAM[0] ?? ''));
  });
});

test('nothing after the terminal frame reaches the client', () => {
  const stream = laneFor('chat', { stream: true }).stream();
  const step = stream.push(Buffer.from(`${CHAT_STREAM.join('')}data: {"junk":1}\n\n`));
  assert.equal(step.state, 'complete');
  assert.equal(stream.push(Buffer.from('data: more\n\n')).forward, null);
  assert.equal(stream.terminal().toString(), 'data: [DONE]\n\n');
  assert.throws(() => stream.terminal());
});
