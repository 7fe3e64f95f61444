/** A whole chat completion → events of the hub. */
import { isObject, type Json, type JsonObject, numberAt, objectAt, objectsAt, stringAt } from '../../lib/json.ts';
import { broken } from '../errors.ts';
import { partsAt } from '../translate/answer-parts.ts';
import type { TurnEvent } from '../translate/turn.ts';
import { isErrorShape } from '../upstream-failure.ts';
import { type ChatPiece, readContent } from './read-content.ts';
import { chatAnnotation, finishOf, readLogprobs } from './reader.ts';
import { readChatTerms, readChatTokens } from './tokens.ts';
import { callsOf, ToolCallReader } from './tool-call-reader.ts';

export function readChatBody(body: Json): readonly TurnEvent[] {
  if (!isObject(body)) broken('it is not a JSON object.');
  if (isErrorShape(body)) return [{ type: 'failure', error: body }];
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
  const logprobs = typeof message.content === 'string' ? readLogprobs(choice) : undefined;
  let refused = false;
  for (const { kind, text } of blocksOf(message)) {
    if (kind === 'unread') {
      events.push({ type: 'unread', text });
      continue;
    }
    const key = nextKey++;
    if (kind === 'reasoning') {
      events.push({ type: 'reasoning-start', key, origin: 'chat' });
      events.push({ type: 'reasoning-delta', key, text, paragraph: 0 }, { type: 'reasoning-end', key });
      continue;
    }
    refused ||= kind === 'refusal';
    events.push({ type: 'text-start', key, kind });
    if (text !== '') events.push({ type: 'text-delta', key, text, logprobs: kind === 'text' ? logprobs : undefined });
    if (kind === 'text') for (const raw of partsAt(message, 'annotations')) events.push(chatAnnotation(key, raw));
    events.push({ type: 'text-end', key });
  }
  const calls = new ToolCallReader(() => nextKey++);
  for (const [index, call] of callsOf(message).entries()) calls.read({ ...call, index }, events);
  calls.close(events);
  events.push(finishOf(stringAt(choice, 'finish_reason') ?? '', calls.any, refused));
  const tokens = readChatTokens(body.usage);
  if (tokens) events.push({ type: 'usage', tokens, terms: readChatTerms(body) });
  events.push({ type: 'end' });
  return events;
}

/** The text is one block, wherever it is among the parts; annotations belong to it, and are there without it too. */
function blocksOf(message: JsonObject): readonly ChatPiece[] {
  const pieces = readContent(message);
  const text = pieces.flatMap((piece) => (piece.kind === 'text' ? [piece.text] : [])).join('');
  const block: ChatPiece = { kind: 'text', text };
  const first = pieces.findIndex(({ kind }) => kind === 'text');
  if (first === -1) return objectsAt(message, 'annotations').length === 0 ? pieces : [...pieces, block];
  return [...pieces.slice(0, first), block, ...pieces.slice(first).filter(({ kind }) => kind !== 'text')];
}
