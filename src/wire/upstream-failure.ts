/** A provider's in-band error as the client reads it. Providers mix the shapes of both formats, so one reader serves all. */
import type { Condition } from '../core/conditions.ts';
import { isObject, type Json, type JsonObject, objectAt, parseJson, stringAt } from '../lib/json.ts';
import type { LaneFailure } from './lane.ts';
import { type FrameView, isBlank } from './sse.ts';
import { isContextLengthError, labelsOf, redact } from './upstream-message.ts';

const MESSAGE_CHARACTERS_MAX = 500;
const BUSY_CODES = new Set([
  'overloaded_error',
  'overloaded',
  'engine_overloaded',
  'server_is_overloaded',
  'slow_down',
  'rate_limit_error',
  'rate_limit_exceeded',
  'insufficient_quota',
  'service_unavailable',
  '429',
  '503',
  '529',
]);

/**
 * `value` is a provider's error: the object itself, or the event or envelope around it. A context-length error is only
 * reported as one while nothing was sent (`first`): later it cannot be about the input.
 */
export function readFailure(value: Json | undefined, first: boolean): LaneFailure {
  const error = errorObject(value);
  const raw = typeof value === 'string' ? value : error === undefined ? undefined : messageIn(error);
  const codes = error === undefined ? [] : ['code', 'type', 'status'].map((name) => String(error[name] ?? ''));
  const condition = conditionOf(codes, raw ?? '', first);
  const message = raw === undefined || raw === '' ? 'no reason given' : redact(raw).slice(0, MESSAGE_CHARACTERS_MAX);
  const kept = `The provider reported an error${labelsOf(error)}.`;
  if (condition === 'context_length_exceeded') return { condition, message, kept };
  return { condition, message: `The provider reported an error: ${message}`, kept };
}

export function brokenStream(message: string): LaneFailure {
  return { condition: 'upstream_error', message };
}

/**
 * Whether an event or a body is an error, in whatever shape: providers and the servers in front of them send shapes that
 * no format has.
 */
export function isErrorShape(value: JsonObject): boolean {
  if (value.error !== undefined && value.error !== null && value.error !== false) return true;
  if (value.object === 'error' || value.type === 'error') return true;
  return typeof value.message === 'string' && 'code' in value;
}

/**
 * The failure that text without any SSE field stands for: a JSON error in the place of a frame, or, before the first
 * event, anything at all. Null for what a client would ignore.
 */
export function failureInPlainText(frame: FrameView, first: boolean): LaneFailure | null {
  if (frame.dataLines > 0 || frame.knownLines > 0 || isBlank(frame)) return null;
  const text = frame.bytes.toString('utf8', frame.start, frame.end).trim();
  if (text === '') return null;
  const value = parseJson(text);
  if (isObject(value) && isErrorShape(value)) return readFailure(value, first);
  return first ? brokenStream('The provider answered with something that is not an event stream.') : null;
}

function messageIn(error: JsonObject): string | undefined {
  return stringAt(error, 'message') ?? stringAt(error, 'error') ?? stringAt(error, 'detail');
}

function errorObject(value: Json | undefined): JsonObject | undefined {
  if (!isObject(value)) return undefined;
  const response = objectAt(value, 'response');
  return objectAt(value, 'error') ?? (response === undefined ? undefined : objectAt(response, 'error')) ?? value;
}

function conditionOf(codes: readonly string[], message: string, first: boolean): Condition {
  if (first && [...codes, message].some(isContextLengthError)) return 'context_length_exceeded';
  return codes.some((code) => BUSY_CODES.has(code)) ? 'provider_unavailable' : 'upstream_error';
}
