/** Which conversation a request belongs to, so that its prompt is sent to where it is cached. */
import { hash } from 'node:crypto';
import { objectAt, stringAt } from '../lib/json.ts';
import { FORMATS } from '../wire/formats.ts';
import type { GenerationRequest, ValidRequest } from './request.ts';

/** The beginning of a conversation stays the same while it grows. */
const BEGINNING_BYTES = 1_024;

/** The client's own name for the conversation decides, else the beginning of its prompt. */
export function conversationOf({ headers, endpoint }: GenerationRequest, request: ValidRequest): string {
  const { body } = request;
  const named =
    stringAt(body, 'prompt_cache_key') ??
    stringAt(objectAt(body, 'metadata') ?? {}, 'user_id') ??
    headers.get('session_id') ??
    headers.get('x-session-id');
  return named ?? beginningOf(request, ['system', 'instructions', FORMATS[endpoint.format].inputField]);
}

function beginningOf({ bytes, layout }: ValidRequest, names: readonly string[]): string {
  const parts = layout.members
    .filter(({ name }) => names.includes(name))
    .map(({ valueStart, valueEnd }) => bytes.subarray(valueStart, Math.min(valueEnd, valueStart + BEGINNING_BYTES)));
  return hash('sha1', Buffer.concat(parts), 'base64');
}
