/** What a provider streams of tool calls and thinking, in each format, where the smallest complete form will not do. */
import type { Format } from '../../../src/core/endpoints.ts';
import { UPSTREAM_MODEL } from './spoken.ts';

export interface ToolCallFrames {
  /** The beginning of the call with this place in the answer. */
  begin(place: number): string;
  /** A piece of its arguments. */
  piece(place: number, json: string): string;
  /** Its end; empty where the format has none. */
  end(place: number, json: string): string;
}

function chat(delta: object): string {
  const choices = [{ index: 0, delta, finish_reason: null }];
  const chunk = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: UPSTREAM_MODEL, choices };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

function item(place: number, json: string, status: string): object {
  const ids = { id: `fc_${place}`, call_id: `call_${place}` };
  return { ...ids, type: 'function_call', name: 'write_file', arguments: json, status };
}

export const TOOL_CALLS: Readonly<Record<Format, ToolCallFrames>> = {
  chat: {
    begin: (place) => {
      const call = { index: place, id: `call_${place}`, type: 'function' };
      return chat({ tool_calls: [{ ...call, function: { name: 'write_file', arguments: '' } }] });
    },
    piece: (place, json) => chat({ tool_calls: [{ index: place, function: { arguments: json } }] }),
    end: () => '',
  },
  responses: {
    begin: (place) =>
      event('response.output_item.added', {
        sequence_number: 0,
        output_index: place,
        item: item(place, '', 'in_progress'),
      }),
    piece: (place, json) =>
      event('response.function_call_arguments.delta', {
        sequence_number: 0,
        item_id: `fc_${place}`,
        output_index: place,
        delta: json,
      }),
    end: (place, json) => {
      const where = { sequence_number: 0, item_id: `fc_${place}`, output_index: place };
      return (
        event('response.function_call_arguments.done', { ...where, name: 'write_file', arguments: json }) +
        event('response.output_item.done', {
          sequence_number: 0,
          output_index: place,
          item: item(place, json, 'completed'),
        })
      );
    },
  },
  messages: {
    begin: (place) =>
      event('content_block_start', {
        index: place,
        content_block: { type: 'tool_use', id: `call_${place}`, name: 'write_file', input: {} },
      }),
    piece: (place, json) =>
      event('content_block_delta', { index: place, delta: { type: 'input_json_delta', partial_json: json } }),
    end: (place) => event('content_block_stop', { index: place }),
  },
};

/** A thinking block of the messages format that is still open. */
export function openThinking(text: string): string {
  return (
    event('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } }) +
    event('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: text } })
  );
}

/** The same frames, with the sequence numbers that they must have one after the other. */
export function numbered(frames: readonly string[]): string[] {
  let next = 0;
  return frames.map((frame) => frame.replace(/"sequence_number":\d+/g, () => `"sequence_number":${next++}`));
}
