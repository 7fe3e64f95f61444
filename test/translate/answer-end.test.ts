import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isObject } from '../../src/lib/json.ts';
import { streamedAnswer, wholeAnswer } from '../support/upstreams/answers.ts';
import { events, objects, TOKENS } from './answer-helpers.ts';
import { DIRECTIONS, lane, MINIMAL, runStream, runWhole } from './run-lane.ts';
import { accumulate } from './sdk.ts';

describe('stop sequences on a target without a field for them', () => {
  const spec = {
    blocks: [{ kind: 'text', pieces: ['one EN', 'D-E', 'ND two', ' END three'] }],
    finish: 'stop',
    tokens: TOKENS,
  } as const;

  test('[R43] end the stream before the first of them, and the answer is complete', async () => {
    const body = { ...MINIMAL.messages, stream: true, stop_sequences: ['two', 'END th'] };
    const run = runStream(lane('messages', 'responses', body), streamedAnswer('responses', spec));
    const final = await accumulate('messages', run.text + run.terminal);
    assert.deepEqual(
      objects(final, 'content').map((block) => block.text),
      ['one END-END '],
    );
    assert.deepEqual([final.stop_reason, final.stop_sequence], ['stop_sequence', 'two']);
    assert.equal(run.meter.reported, null);
  });

  test('[R43] end a whole answer in the same place, billed as the provider reported it', () => {
    const whole = runWhole(
      lane('chat', 'responses', { ...MINIMAL.chat, stop: 'END th' }),
      wholeAnswer('responses', spec),
    );
    const [choice] = objects(whole.body, 'choices');
    assert.deepEqual(isObject(choice?.message) && choice.message.content, 'one END-END two ');
    assert.equal(choice?.finish_reason, 'stop');
    assert.deepEqual(whole.meter.reported, TOKENS);
  });

  test('that do not come change nothing, however the text is cut', () => {
    const body = { ...MINIMAL.chat, stream: true };
    const text = (stop: readonly string[]): string =>
      events(runStream(lane('chat', 'responses', { ...body, stop }), streamedAnswer('responses', spec)).text)
        .map((event) => JSON.stringify(event.choices).match(/"content":"([^"]*)"/)?.[1] ?? '')
        .join('');
    assert.equal(text(['END-END?', 'ENDE', 'three!']), text([]));
  });
});

describe('an answer that is cut short', () => {
  const tokens = { ...TOKENS, output: 3 };
  const blocks = {
    text: { kind: 'text', pieces: ['one', ' two', ' three'] },
    thinking: { kind: 'thinking', pieces: ['one', ' two', ' three'], signature: 's' },
    tool: { kind: 'tool', id: 'call_1', name: 'f', pieces: ['{"a"', ':"one two"', '}'] },
  } as const;

  for (const [from, to] of DIRECTIONS) {
    test(`ends as at the length limit, whatever it was saying, for a ${from} client of a ${to} target`, async () => {
      for (const block of Object.values(blocks)) {
        const stream = lane(from, to, { ...MINIMAL[from], stream: true }).stream();
        const upstream = streamedAnswer(to, { blocks: [block], finish: 'stop', tokens: TOKENS });
        const seen = stream.push(Buffer.from(upstream.slice(0, upstream.indexOf('two') + 'two"}}\n'.length)));
        const whole = stream.push(
          Buffer.from(`${upstream.slice(upstream.indexOf('two') + 'two"}}\n'.length).split('\n\n')[0]}\n\n`),
        );
        const cut = stream.cutShort?.(tokens);
        assert.equal(cut?.state, 'complete');
        const text = [seen, whole, cut].map((step) => step?.forward?.toString() ?? '').join('');
        const final = await accumulate(from, text + stream.terminal());
        assert.match(JSON.stringify(final), /max_tokens|"length"|max_output_tokens/);
        if (from !== 'chat') assert.match(JSON.stringify(final), /two/);
        if (from === 'messages') {
          const types = events(text).map((event) => event.type);
          assert.deepEqual(types.slice(-2), ['content_block_stop', 'message_delta']);
        }
      }
    });
  }
});
