/** Text in members that the meter may not know: read to ten thousand tokens, then left. */
import type { Format } from '../../../src/core/endpoints.ts';
import { SPEECH } from '../../support/upstreams/spoken.ts';
import { type Arena, MODEL, OUTPUT_LIMIT } from '../arena.ts';
import { send } from '../client.ts';
import { OUTPUT_NANOS, tokensIn, words } from '../money.ts';
import type { Attack } from '../trial.ts';

const READ_TOKENS = 10_000;
const FRAME_TOKENS = 100;
const FRAMES = 120;
const AT_ONCE = 5;
const SILENT_MS = 4_000;
/** Estimates and counts of unreported output may differ so much from what was read, or made. */
const LEAST = 0.8;
const MOST = 1.5;

interface Shape {
  readonly format: Format;
  readonly name: string;
  /** Before the first frame, beside the opening of the format. */
  readonly opening?: readonly string[];
  frame(text: string): string;
}

function chat(name: string, delta: (text: string) => object): Shape {
  return {
    format: 'chat',
    name,
    frame: (text) => {
      const choices = [{ index: 0, delta: delta(text), finish_reason: null }];
      const chunk = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'upstream-model', choices };
      return `data: ${JSON.stringify(chunk)}\n\n`;
    },
  };
}

function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

function responses(name: string, fields: (text: string) => object): Shape {
  const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  let sequence = 4;
  return {
    format: 'responses',
    name,
    frame: (text) => event(name, { sequence_number: sequence++, ...place, ...fields(text) }),
  };
}

function messages(type: string, block: object, member: string): Shape {
  return {
    format: 'messages',
    name: type,
    opening: [event('content_block_start', { index: 1, content_block: block })],
    frame: (text) => event('content_block_delta', { index: 1, delta: { type, [member]: text } }),
  };
}

const delta = (text: string): object => ({ delta: text });

const SHAPES: readonly Shape[] = [
  chat('content', (content) => ({ content })),
  chat('content as parts', (text) => ({ content: [{ type: 'text', text }] })),
  chat('content as thinking parts', (text) => ({
    content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }],
  })),
  chat('reasoning_details', (text) => ({ reasoning_details: [{ type: 'reasoning.text', text, index: 0 }] })),
  chat('reasoning', (reasoning) => ({ reasoning })),
  chat('reasoning_content', (text) => ({ reasoning_content: text })),
  chat('refusal', (refusal) => ({ refusal })),
  chat('audio transcript', (transcript) => ({ audio: { id: 'audio_1', transcript } })),
  chat('function_call', (text) => ({ function_call: { arguments: text } })),
  chat('tool_calls', (text) => ({ tool_calls: [{ index: 0, function: { arguments: text } }] })),
  chat('custom tool', (input) => ({ tool_calls: [{ index: 0, type: 'custom', custom: { input } }] })),
  chat('an unknown member', (monologue) => ({ monologue })),
  chat('an unknown object', (text) => ({ extension: { parts: [{ kind: 'aside', text }] } })),
  responses('response.output_text.delta', (text) => ({ delta: text, logprobs: [] })),
  responses('response.refusal.delta', delta),
  responses('response.reasoning_text.delta', delta),
  responses('response.reasoning_summary_text.delta', (text) => ({ delta: text, summary_index: 0 })),
  responses('response.function_call_arguments.delta', delta),
  responses('response.custom_tool_call_input.delta', delta),
  responses('response.mcp_call_arguments.delta', delta),
  responses('response.code_interpreter_call_code.delta', delta),
  responses('response.audio.transcript.delta', delta),
  responses('response.output_audio_transcript.delta', delta),
  responses('response.monologue.delta', delta),
  messages('text_delta', { type: 'text', text: '' }, 'text'),
  messages('thinking_delta', { type: 'thinking', thinking: '', signature: '' }, 'thinking'),
  messages('input_json_delta', { type: 'tool_use', id: 'call_1', name: 'write', input: {} }, 'partial_json'),
  messages('compaction_delta', { type: 'compaction', content: null }, 'content'),
  messages('monologue_delta', { type: 'monologue', monologue: '' }, 'monologue'),
];

async function readAndLeave(arena: Arena, shape: Shape, index: number): Promise<void> {
  const { format, name } = shape;
  const key = await arena.key();
  let read = 0;
  const body = SPEECH[format].request({
    model: MODEL,
    stream: true,
    user: String(index),
    metadata: { user_id: String(index) },
    // The chat and responses formats have a limit of their own names, and the model's without one.
    ...(format === 'messages' ? { max_tokens: OUTPUT_LIMIT } : {}),
  });
  const { requestId, status } = await send(key, SPEECH[format].path, body, {
    withinMs: SILENT_MS,
    enough: (piece) => {
      read += tokensIn(piece);
      return read >= READ_TOKENS;
    },
  });
  await arena.settled([key]);
  const charged = ((await arena.charges(key)).get(requestId) ?? 0) / OUTPUT_NANOS;
  const seen = `${format}, ${name}: ${read} tokens read, ${Math.round(charged)} charged`;
  if (status !== 200) arena.fault(`${seen}: status ${status}`);
  else if (charged < read * LEAST) arena.fault(`${seen}: less than was read`);
  else if (charged > FRAMES * FRAME_TOKENS * MOST) arena.fault(`${seen}: more than was made`);
}

export const UNMETERED_TEXT: Attack = {
  name: 'text in unknown shapes',
  tags: 'F48',
  run: async (arena) => {
    const text = words(FRAME_TOKENS);
    arena.provider.answer = (call) => {
      const { user, metadata } = call.body as { user?: string; metadata?: { user_id?: string } };
      const shape = SHAPES[Number(metadata?.user_id ?? user)];
      if (shape === undefined) return call.reset();
      call.streamHead();
      for (const frame of [...SPEECH[shape.format].opening, ...(shape.opening ?? [])]) call.chunk(frame);
      for (let count = 0; count < FRAMES; count++) call.chunk(shape.frame(text));
    };
    const waiting = [...SHAPES.entries()];
    let done = 0;
    const one = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined && arena.isAlive; next = waiting.shift()) {
        await readAndLeave(arena, next[1], next[0]);
        done += 1;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
    arena.figure(`${done} shapes of deltas, each read to ${READ_TOKENS} tokens and left`);
  },
};
