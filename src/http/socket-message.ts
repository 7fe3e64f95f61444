/** What a client may say over a WebSocket on `/v1/responses`. */
import { GatewayError } from '../core/conditions.ts';
import { type Json, type JsonObject, parseJson } from '../lib/json.ts';
import { change } from '../wire/json/edit.ts';
import { type Layout, layoutAt } from '../wire/json/scan.ts';

const STREAM_ID_CHARACTERS_MAX = 200;

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

interface SteerMessage {
  readonly type: 'steer';
  readonly event: JsonObject;
}

/** Never throws: what is wrong with a message is found when it is served, after its place in the rate limit was taken. */
export function readMessage(content: Buffer, isText: boolean): CreateMessage | SteerMessage {
  if (!isText) return refused(null, 'Send events as text messages, not as binary ones.');
  const view = content.toString('latin1');
  const layout = layoutAt(view, 0);
  // The reader of bodies says what is wrong with it.
  if (layout === null) return { type: 'create', streamId: null, prepares: false, body: content };
  const member = (name: string): Json | undefined => memberOf(content, layout, name);
  const type = member('type');
  const streamId = member('stream_id') ?? null;
  if (streamId !== null && (typeof streamId !== 'string' || !isStreamId(streamId))) {
    return refused(null, `stream_id must be a string of 1 to ${STREAM_ID_CHARACTERS_MAX} characters.`, 'stream_id');
  }
  if (type === 'response.steer') {
    const event = parseJson(content.toString());
    return { type: 'steer', event: (event ?? {}) as JsonObject };
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
  return found && parseJson(content.toString('utf8', found.valueStart, found.valueEnd));
}

function isStreamId(text: string): boolean {
  return text.length > 0 && text.length <= STREAM_ID_CHARACTERS_MAX && text.isWellFormed();
}

function refused(streamId: string | null, message: string, param?: string): CreateMessage {
  const body = new GatewayError('invalid_request', { message, param });
  return { type: 'create', streamId, prepares: false, body };
}
