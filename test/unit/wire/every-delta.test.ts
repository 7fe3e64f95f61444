/** Every place where an answer of each format can carry text, and what of it the meter counts, on both kinds of lane. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LaneStream, Meter } from '../../../src/wire/lane.ts';
import { lane, MINIMAL } from '../../translate/run-lane.ts';
import { completeResponse, type FormatName, laneFor, MESSAGES_STREAM, UPSTREAM_MODEL } from './streams.ts';

/** With characters of more than one byte, and some that JSON escapes. */
const TEXT = `The “answer” is 42 \\ ${'word '.repeat(40)}\n`;
const BYTES = Buffer.byteLength(TEXT);
const TOOL = 'say_it';
const OTHER: Readonly<Record<FormatName, FormatName>> = { chat: 'messages', responses: 'chat', messages: 'responses' };

type Frames = readonly string[];

function chunk(delta: object | string, more: object = {}): string {
  const choice = { index: 0, delta, logprobs: null, finish_reason: null, ...more };
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: UPSTREAM_MODEL, choices: [choice] })}\n\n`;
}

function event(type: string, data: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}

const block = (delta: object): string => event('content_block_delta', { index: 0, delta });
const started = (content_block: object): string => event('content_block_start', { index: 0, content_block });
const OF_ITEM = { sequence_number: 9, item_id: 'i', output_index: 0, content_index: 0 };
const added = (item: object): string =>
  event('response.output_item.added', { sequence_number: 2, output_index: 0, item: { id: 'i', ...item } });
const done = (item: object): string =>
  event('response.output_item.done', { sequence_number: 3, output_index: 0, item: { id: 'i', ...item } });
const flat = (type: string, data: object): string => event(type, { ...OF_ITEM, ...data });
const MESSAGE = { type: 'message', role: 'assistant', status: 'in_progress', content: [] };
const REASONING = { type: 'reasoning', summary: [] };
const part = (text: string): object => ({ type: 'output_text', text, annotations: [], logprobs: [] });

const OPENING: Readonly<Record<FormatName, Frames>> = {
  chat: [chunk({ role: 'assistant', content: '' })],
  messages: MESSAGES_STREAM.slice(0, 1),
  responses: [event('response.created', { sequence_number: 0, response: completeResponse('in_progress') })],
};

/** Each carries the text once, as the meter must count it, however often it is repeated. */
const CARRIES: Readonly<Record<FormatName, Readonly<Record<string, Frames>>>> = {
  chat: {
    content: [chunk({ content: TEXT })],
    refusal: [chunk({ refusal: TEXT })],
    reasoning_content: [chunk({ reasoning_content: TEXT })],
    reasoning: [chunk({ reasoning: TEXT })],
    'reasoning_details, text': [
      chunk({ reasoning_details: [{ type: 'reasoning.text', text: TEXT, format: 'anthropic-claude-v1', index: 0 }] }),
    ],
    'reasoning_details, summary': [
      chunk({ reasoning_details: [{ type: 'reasoning.summary', summary: TEXT, id: 'rs_1' }] }),
    ],
    'reasoning twice, as text and as details': [
      chunk({ content: '', reasoning: TEXT, reasoning_details: [{ type: 'reasoning.text', text: TEXT, index: 0 }] }),
    ],
    'reasoning in three places': [
      chunk({
        thinking_blocks: [{ type: 'thinking', thinking: TEXT, signature: 'c2ln' }],
        reasoning_content: TEXT,
        provider_specific_fields: { thinking_blocks: [{ type: 'thinking', thinking: TEXT }] },
      }),
    ],
    'content as a part': [chunk({ content: [{ type: 'text', text: TEXT }] })],
    'content as one object': [chunk({ content: { type: 'text', text: TEXT } })],
    'content as parts that are strings': [chunk({ content: [TEXT] })],
    'a thinking part': [chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: TEXT }] }] })],
    'an unknown part': [chunk({ content: [{ type: 'novel', novel: TEXT }] })],
    'tool arguments': [
      chunk({ tool_calls: [{ index: 0, id: 't', type: 'function', function: { name: TOOL, arguments: TEXT } }] }),
    ],
    'input of a custom tool': [
      chunk({ tool_calls: [{ index: 0, id: 't', type: 'custom', custom: { name: TOOL, input: TEXT } }] }),
    ],
    'arguments of function_call': [chunk({ function_call: { name: TOOL, arguments: TEXT } })],
    'the transcript of sound': [chunk({ audio: { id: 'a', transcript: TEXT, data: 'AAAA'.repeat(50) } })],
    'an unknown member': [chunk({ novel: TEXT })],
    'an unknown list': [chunk({ novel: [TEXT] })],
    'an unknown object': [chunk({ novel: { deep: [{ deeper: TEXT }] } })],
    'a message where a delta should be': [
      `data: ${JSON.stringify({ model: UPSTREAM_MODEL, choices: [{ index: 0, message: { content: TEXT } }] })}\n\n`,
    ],
    'a delta that is text': [chunk(TEXT)],
    'text beside the delta': [chunk({}, { text: TEXT })],
    'text that repeats the delta': [chunk({ content: TEXT }, { text: TEXT })],
    'messages where deltas should be': [
      `data: ${JSON.stringify({ model: UPSTREAM_MODEL, choices: [{ index: 0, message: { content: TEXT.slice(0, 60) } }] })}\n\n`,
      `data: ${JSON.stringify({ model: UPSTREAM_MODEL, choices: [{ index: 0, message: { content: TEXT.slice(60) } }] })}\n\n`,
    ],
    'deltas that a whole message repeats': [
      chunk({ content: TEXT }),
      chunk({}, { message: { role: 'assistant', content: TEXT } }),
    ],
  },
  messages: {
    text_delta: [started({ type: 'text', text: '' }), block({ type: 'text_delta', text: TEXT })],
    'text at the start of its block': [started({ type: 'text', text: TEXT })],
    thinking_delta: [
      started({ type: 'thinking', thinking: '', signature: '' }),
      block({ type: 'thinking_delta', thinking: TEXT, estimated_tokens: null }),
    ],
    'thinking at the start of its block': [started({ type: 'thinking', thinking: TEXT, signature: '' })],
    input_json_delta: [
      started({ type: 'tool_use', id: 't', name: TOOL, input: {} }),
      block({ type: 'input_json_delta', partial_json: TEXT }),
    ],
    'input_json_delta of a hosted tool': [
      started({ type: 'server_tool_use', id: 't', name: TOOL, input: {} }),
      block({ type: 'input_json_delta', partial_json: TEXT }),
    ],
    compaction_delta: [
      started({ type: 'compaction', content: null }),
      block({ type: 'compaction_delta', content: TEXT, encrypted_content: 'ZW5j'.repeat(50) }),
    ],
    'a compaction at the start of its block': [started({ type: 'compaction', content: TEXT })],
    'an unknown delta': [started({ type: 'text', text: '' }), block({ type: 'novel_delta', novel: { deep: [TEXT] } })],
    'an unknown block': [started({ type: 'novel', novel: [{ deep: TEXT }] })],
    'an unknown event': [event('novel', { novel: { deep: TEXT } })],
  },
  responses: {
    'output_text.delta': [
      added(MESSAGE),
      flat('response.output_text.delta', { delta: TEXT, obfuscation: 'x'.repeat(9) }),
    ],
    'refusal.delta': [added(MESSAGE), flat('response.refusal.delta', { delta: TEXT })],
    'reasoning_text.delta': [added(REASONING), flat('response.reasoning_text.delta', { delta: TEXT })],
    'reasoning_summary_text.delta': [
      added(REASONING),
      event('response.reasoning_summary_text.delta', {
        sequence_number: 3,
        item_id: 'i',
        output_index: 0,
        summary_index: 0,
        delta: TEXT,
      }),
    ],
    'function_call_arguments.delta': [
      added({ type: 'function_call', call_id: 'c', name: TOOL, arguments: '' }),
      flat('response.function_call_arguments.delta', { delta: TEXT }),
    ],
    'custom_tool_call_input.delta': [
      added({ type: 'custom_tool_call', call_id: 'c', name: TOOL, input: '' }),
      flat('response.custom_tool_call_input.delta', { delta: TEXT }),
    ],
    'mcp_call_arguments.delta': [
      added({ type: 'mcp_call', name: TOOL, server_label: 's', arguments: '' }),
      flat('response.mcp_call_arguments.delta', { delta: TEXT }),
    ],
    'code_interpreter_call_code.delta': [
      added({ type: 'code_interpreter_call', code: '', container_id: 'c', outputs: null }),
      flat('response.code_interpreter_call_code.delta', { delta: TEXT }),
    ],
    'shell_call_command.delta': [
      added({ type: 'shell_call', action: { commands: [] } }),
      flat('response.shell_call_command.delta', { delta: TEXT, command_index: 0 }),
    ],
    'audio.transcript.delta': [event('response.audio.transcript.delta', { sequence_number: 1, delta: TEXT })],
    'an unknown delta': [added(MESSAGE), flat('response.novel.delta', { delta: TEXT })],
    'a delta that is an object': [added(MESSAGE), flat('response.novel.delta', { delta: { deep: [{ text: TEXT }] } })],
    'an unknown event': [flat('response.novel', { novel: { deep: TEXT } })],
    'only the end of a text': [added(MESSAGE), flat('response.output_text.done', { text: TEXT, logprobs: [] })],
    'only the end of a part': [added(MESSAGE), flat('response.content_part.done', { part: part(TEXT) })],
    'only the end of a message': [done({ ...MESSAGE, content: [part(TEXT)] })],
    'only the end of reasoning': [done({ ...REASONING, summary: [{ type: 'summary_text', text: TEXT }] })],
    'only the end of a call': [done({ type: 'function_call', call_id: 'c', name: TOOL, arguments: TEXT })],
    'only the end of a patch': [
      done({ type: 'apply_patch_call', call_id: 'c', operation: { type: 'create_file', diff: TEXT } }),
    ],
    'an unknown item': [done({ type: 'novel', novel: [{ deep: TEXT }] })],
    'only the end of the response': [
      event('response.completed', {
        sequence_number: 4,
        response: completeResponse('completed', { output: [{ id: 'i', ...MESSAGE, content: [part(TEXT)] }] }),
      }),
    ],
    'deltas that every later event repeats': [
      added(MESSAGE),
      flat('response.content_part.added', { part: part('') }),
      flat('response.output_text.delta', { delta: TEXT.slice(0, 50) }),
      flat('response.output_text.delta', { delta: TEXT.slice(50) }),
      flat('response.output_text.done', { text: TEXT }),
      flat('response.content_part.done', { part: part(TEXT) }),
      done({ ...MESSAGE, content: [part(TEXT)] }),
      event('response.completed', {
        sequence_number: 20,
        response: completeResponse('completed', { output: [{ id: 'i', ...MESSAGE, content: [part(TEXT)] }] }),
      }),
    ],
  },
};

/** Strings that no model has written as text: the bytes of each mean nothing for the tokens. */
const CARRIES_NOT: Readonly<Record<FormatName, Readonly<Record<string, Frames>>>> = {
  chat: {
    'names and ids': [
      chunk({ role: TEXT, tool_calls: [{ index: 0, id: TEXT, type: 'function', function: { name: TOOL } }] }),
    ],
    'encrypted reasoning': [chunk({ reasoning_details: [{ type: 'reasoning.encrypted', data: TEXT, id: TEXT }] })],
    'a signature': [chunk({ extra_content: { google: { thought_signature: TEXT } } })],
    sound: [chunk({ audio: { data: TEXT } })],
    'an image': [chunk({ images: [{ type: 'image_url', image_url: { url: TEXT } }] })],
    annotations: [chunk({ annotations: [{ type: 'url_citation', url_citation: { title: TEXT, url: TEXT } }] })],
    'the same tokens again': [chunk({}, { logprobs: { content: [{ token: TEXT, top_logprobs: [{ token: TEXT }] }] } })],
    padding: [`data: ${JSON.stringify({ choices: [{ index: 0, delta: {} }], obfuscation: TEXT })}\n\n`],
  },
  messages: {
    signature_delta: [started({ type: 'thinking', thinking: '' }), block({ type: 'signature_delta', signature: TEXT })],
    'redacted thinking': [started({ type: 'redacted_thinking', data: TEXT })],
    citations_delta: [
      started({ type: 'text', text: '' }),
      block({ type: 'citations_delta', citation: { type: 'char_location', cited_text: TEXT } }),
    ],
    'what a hosted tool has returned': [
      started({
        type: 'web_search_tool_result',
        tool_use_id: 't',
        content: [{ type: 'web_search_result', title: TEXT }],
      }),
    ],
    'the end': [event('message_delta', { delta: { stop_reason: 'stop_sequence', stop_sequence: TEXT }, usage: {} })],
  },
  responses: {
    sound: [event('response.audio.delta', { sequence_number: 1, delta: TEXT })],
    'an image': [flat('response.image_generation_call.partial_image', { partial_image_b64: TEXT })],
    'what a command has returned': [
      flat('response.shell_call_output_content.delta', { delta: { stdout: TEXT, stderr: TEXT } }),
    ],
    'what a hosted tool has returned': [
      done({ type: 'file_search_call', queries: [], results: [{ text: TEXT }] }),
      done({ type: 'mcp_call', arguments: '', output: TEXT }),
      done({ type: 'local_shell_call_output', output: TEXT }),
    ],
    'encrypted reasoning': [done({ ...REASONING, encrypted_content: TEXT })],
    annotations: [flat('response.output_text.annotation.added', { annotation: { type: 'url_citation', title: TEXT } })],
    'the request that a response repeats': [
      event('response.in_progress', {
        sequence_number: 1,
        response: completeResponse('in_progress', { instructions: TEXT }),
      }),
    ],
  },
};

const LANES: Readonly<Record<string, (target: FormatName) => LaneStream>> = {
  passed: (target) => laneFor(target, { stream: true }).stream(),
  translated: (target) => {
    const client = OTHER[target];
    return lane(client, target, { ...MINIMAL[client], stream: true }).stream();
  },
};

/** The name of a tool that is called counts beside the text, once. */
function namesIn(frames: Frames): number {
  return frames.join('').includes(TOOL) ? TOOL.length : 0;
}

function feed(stream: LaneStream, frames: Frames): { readonly meter: Meter; readonly sampled: string } {
  for (const frame of frames) {
    const { failure } = stream.push(Buffer.from(frame));
    assert.equal(failure, null);
  }
  return { meter: stream.meter(), sampled: stream.sample?.()?.text() ?? '' };
}

for (const target of ['chat', 'messages', 'responses'] as const) {
  for (const [how, streamOf] of Object.entries(LANES)) {
    describe(`${target}, ${how}`, () => {
      for (const [what, frames] of Object.entries(CARRIES[target])) {
        test(`[F48] ${what}: its text counts once, and is there to be counted by a tokenizer`, () => {
          const { meter, sampled } = feed(streamOf(target), [...OPENING[target], ...frames]);
          assert.equal(meter.outputBytes, BYTES + namesIn(frames));
          assert.ok(sampled.includes(TEXT.slice(0, 50)), 'in the sample');
        });
      }

      for (const [what, frames] of Object.entries(CARRIES_NOT[target])) {
        test(`[F48] ${what}: is not text`, () => {
          const { meter } = feed(streamOf(target), [...OPENING[target], ...frames]);
          assert.equal(meter.outputBytes, namesIn(frames));
        });
      }
    });
  }
}

describe('an unknown frame that is repeated', () => {
  const repeated: Readonly<Record<'chat' | 'messages', (text: string) => string>> = {
    chat: (text) => chunk({ content: [{ type: 'text', text }], novel: text }),
    messages: (text) => block({ type: 'novel_delta', novel: text }),
  };
  for (const target of ['chat', 'messages'] as const) {
    test(`[F48] ${target}: each of its texts counts, also by the template of the frames before`, () => {
      const words = ['one ', 'two "quoted" ', 'thrée ', 'four '];
      const frames = words.map(repeated[target]);
      const { meter } = feed(laneFor(target, { stream: true }).stream(), [...OPENING[target], ...frames]);
      assert.equal(meter.outputBytes, Buffer.byteLength(words.join('')) * (target === 'chat' ? 2 : 1));
    });
  }

  test('[F48] reasoning in two members is counted by the longer one in every frame', () => {
    const frames = ['a', 'bb', 'cc'].map((text) =>
      chunk({ reasoning: text, reasoning_details: [{ type: 'reasoning.text', text: `${text}more`, index: 0 }] }),
    );
    const { meter } = feed(laneFor('chat', { stream: true }).stream(), [...OPENING.chat, ...frames]);
    assert.equal(meter.outputBytes, 'amorebbmoreccmore'.length);
  });
});
