/** A whole chat completion → events of the hub. */
import { isObject, type Json, numberAt, objectAt, objectsAt, stringAt } from '../../lib/json.ts';
import { broken } from '../errors.ts';
import type { TurnEvent } from '../translate/turn.ts';
import { chatAnnotation, chatFailure, finishOf, readLogprobs } from './reader.ts';
import { readChatTerms, readChatTokens } from './tokens.ts';
import { ToolCallReader } from './tool-call-reader.ts';

export function readChatBody(body: Json): readonly TurnEvent[] {
  if (!isObject(body)) broken('it is not a JSON object.');
  const failure = chatFailure(body);
  if (failure) return [failure];
  const [choice] = objectsAt(body, 'choices');
  const message = choice && objectAt(choice, 'message');
  if (!choice || !message) broken('it has no message.');
  const events: TurnEvent[] = [
    {
      type: 'start',
      id: stringAt(body, 'id') ?? null,
      createdS: numberAt(body, 'created') ?? null,
      serviceTier: stringAt(body, 'service_tier'),
    },
  ];
  let nextKey = 0;
  const reasoning = stringAt(message, 'reasoning_content') ?? stringAt(message, 'reasoning');
  if (reasoning) {
    const key = nextKey++;
    events.push({ type: 'reasoning-start', key, origin: 'chat' });
    events.push({ type: 'reasoning-delta', key, text: reasoning, paragraph: 0 }, { type: 'reasoning-end', key });
  }
  const content = textOf(message.content);
  const annotations = objectsAt(message, 'annotations');
  if (content !== '' || annotations.length > 0) {
    const key = nextKey++;
    events.push({ type: 'text-start', key, kind: 'text' });
    if (content !== '') events.push({ type: 'text-delta', key, text: content, logprobs: readLogprobs(choice) });
    for (const raw of annotations) events.push(chatAnnotation(key, raw));
    events.push({ type: 'text-end', key });
  }
  const refusal = stringAt(message, 'refusal');
  if (refusal) {
    const key = nextKey++;
    events.push({ type: 'text-start', key, kind: 'refusal' });
    events.push({ type: 'text-delta', key, text: refusal }, { type: 'text-end', key });
  }
  const calls = new ToolCallReader(() => nextKey++);
  for (const [index, call] of objectsAt(message, 'tool_calls').entries()) calls.read({ ...call, index }, events);
  calls.close(events);
  events.push(finishOf(stringAt(choice, 'finish_reason') ?? '', calls.any, refusal !== undefined && refusal !== ''));
  const tokens = readChatTokens(body.usage);
  if (tokens) events.push({ type: 'usage', tokens, terms: readChatTerms(body) });
  events.push({ type: 'end' });
  return events;
}

/** Some servers answer with a list of text parts. */
function textOf(content: Json | undefined): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: Json) => (isObject(part) ? (stringAt(part, 'text') ?? '') : '')).join('');
}
