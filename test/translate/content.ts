/** What an answer says, whatever its format: for comparing answers across formats, and streams with whole bodies. */
import type { Format } from '../../src/core/endpoints.ts';
import { arrayAt, isObject, type Json, type JsonObject, objectAt, stringAt } from '../../src/lib/json.ts';
import type { AnswerSpec } from '../support/upstreams/answers.ts';

export interface Said {
  readonly text: string;
  readonly refusal: string;
  readonly thinking: string;
  readonly tools: readonly { readonly id: string; readonly name: string; readonly input: Json }[];
}

export function said(format: Format, body: JsonObject): Said {
  if (format === 'chat') return chatSaid(body);
  return format === 'responses' ? responsesSaid(body) : messagesSaid(body);
}

const objects = (value: JsonObject, name: string): JsonObject[] => (arrayAt(value, name) ?? []).filter(isObject);
const parsed = (text: string): Json => JSON.parse(text === '' ? '{}' : text);

function chatSaid(body: JsonObject): Said {
  const choice = objects(body, 'choices')[0] ?? {};
  const message = objectAt(choice, 'message') ?? {};
  return {
    text: stringAt(message, 'content') ?? '',
    refusal: stringAt(message, 'refusal') ?? '',
    // The SDK keeps only the last piece of fields that it does not know.
    thinking: '',
    tools: objects(message, 'tool_calls').map((call) => {
      const details = objectAt(call, 'function') ?? {};
      return { id: String(call.id), name: String(details.name), input: parsed(String(details.arguments)) };
    }),
  };
}

function responsesSaid(body: JsonObject): Said {
  let text = '';
  let refusal = '';
  let thinking = '';
  const tools: Said['tools'][number][] = [];
  for (const item of objects(body, 'output')) {
    if (item.type === 'message') {
      for (const part of objects(item, 'content')) {
        text += stringAt(part, 'text') ?? '';
        refusal += stringAt(part, 'refusal') ?? '';
      }
    } else if (item.type === 'reasoning') {
      for (const part of objects(item, 'summary')) thinking += stringAt(part, 'text') ?? '';
    } else {
      tools.push({ id: String(item.call_id), name: String(item.name), input: parsed(String(item.arguments)) });
    }
  }
  return { text, refusal, thinking, tools };
}

function messagesSaid(body: JsonObject): Said {
  let text = '';
  let thinking = '';
  const tools: Said['tools'][number][] = [];
  for (const block of objects(body, 'content')) {
    if (block.type === 'tool_use') {
      tools.push({ id: String(block.id), name: String(block.name), input: block.input ?? {} });
    }
    text += stringAt(block, 'text') ?? '';
    thinking += stringAt(block, 'thinking') ?? '';
  }
  return { text, refusal: '', thinking, tools };
}

/** What a client of this format should read of the answer. */
export function expected(format: Format, spec: AnswerSpec): Said {
  let text = '';
  let refusal = '';
  let thinking = '';
  const tools: Said['tools'][number][] = [];
  for (const block of spec.blocks) {
    if (block.kind === 'redacted') continue;
    const whole = block.pieces.join('');
    if (block.kind === 'tool') tools.push({ id: block.id, name: block.name, input: parsed(whole) });
    else if (block.kind === 'thinking') thinking += whole;
    else if (block.kind === 'refusal' && format !== 'messages') refusal += whole;
    else text += whole;
  }
  return { text, refusal, thinking: format === 'chat' ? '' : thinking, tools };
}
