/** What a client may say over a WebSocket on `/v1/responses`. */
import { GatewayError } from '../core/conditions.ts';
import { isObject, type Json, type JsonObject, parseJson } from '../lib/json.ts';
import { change } from '../wire/json/edit.ts';
import { bodyLayout } from '../wire/json/parse-request.ts';
import type { Layout } from '../wire/json/scan.ts';

const STREAM_ID_CHARACTERS_MAX = 200;
/** What is read of a message by itself is not larger: a `stream_id` with each of its characters escaped. */
const VALUE_BYTES_MAX = 2_048;
/** The answer to a larger one repeats nothing of it. */
const STEER_BYTES_MAX = 65_536;
/** A value that no member may have which is read here. */
const UNREADABLE: Json = [];

/** A response is asked for. */
export interface CreateMessage {
  readonly type: 'create';
  /** Is said again with every event of the answer; null where the client gives none. */
  readonly streamId: string | null;
  /** Whether there is to be no answer: what is sent is only remembered. */
  readonly prepares: boolean;
  /** The body of the same request over HTTP, or why there is none. */
  readonly body: Buffer | GatewayError;
}

export interface SteerMessage {
  readonly type: 'steer';
  /** What the answer repeats: the client may want to send it in another way. */
  readonly steer: JsonObject;
}

/**
 * Never throws: what is wrong with a message is found when it is served, after its place in the rate limit was taken. Before
 * that nothing is made of it but a scan for its members, which ends where a body would be refused.
 */
export function readMessage(content: Buffer, isText: boolean): CreateMessage | SteerMessage {
  if (!isText) return refused(null, 'Send events as text messages, not as binary ones.');
  const view = content.toString('latin1');
  const layout = bodyLayout(view);
  // The reader of bodies says what is wrong with it.
  if (layout === null || typeof layout === 'string')
    return { type: 'create', streamId: null, prepares: false, body: content };
  const member = (name: string): Json | undefined => memberOf(content, layout, name);
  const type = member('type');
  const streamId = member('stream_id') ?? null;
  if (streamId !== null && (typeof streamId !== 'string' || !isStreamId(streamId))) {
    return refused(null, `stream_id must be a string of 1 to ${STREAM_ID_CHARACTERS_MAX} characters.`, 'stream_id');
  }
  if (type === 'response.steer') {
    const event = content.length > STEER_BYTES_MAX ? null : parseJson(content.toString());
    const { input, previous_response_id } = isObject(event) ? event : {};
    return { type: 'steer', steer: { input, previous_response_id } };
  }
  if (type !== 'response.create') return refused(streamId, 'type must be response.create or response.steer.', 'type');
  const generate = member('generate') ?? true;
  if (typeof generate !== 'boolean') return refused(streamId, 'generate must be a boolean.', 'generate');
  if (member('background') === true) return refused(streamId, BACKGROUND, 'background');
  return { type: 'create', streamId, prepares: !generate, body: bodyOf(content, layout) };
}

const BACKGROUND =
  'background: a response over a WebSocket belongs to its connection. Send it with POST to let it run in the background.';

/** Without what belongs to the message alone; an answer is always a stream. */
function bodyOf(content: Buffer, layout: Layout): Buffer {
  return change(
    content,
    [
      { path: ['type'], json: null },
      { path: ['stream_id'], json: null },
      { path: ['generate'], json: null },
      { path: ['stream'], json: 'true' },
    ],
    layout,
  );
}

/** Of several of one name the last, as JSON is read; undefined where there is none. */
function memberOf(content: Buffer, { members }: Layout, name: string): Json | undefined {
  const found = members.findLast((member) => member.name === name);
  if (found === undefined) return undefined;
  const { valueStart, valueEnd } = found;
  const value =
    valueEnd - valueStart > VALUE_BYTES_MAX ? undefined : parseJson(content.toString('utf8', valueStart, valueEnd));
  return value === undefined ? UNREADABLE : value;
}

function isStreamId(text: string): boolean {
  return text.length > 0 && text.length <= STREAM_ID_CHARACTERS_MAX && text.isWellFormed();
}

function refused(streamId: string | null, message: string, param?: string): CreateMessage {
  const body = new GatewayError('invalid_request', { message, param });
  return { type: 'create', streamId, prepares: false, body };
}
