/** A whole response → events of the hub. */
import { isObject, type Json, stringAt } from '../../lib/json.ts';
import { broken } from '../errors.ts';
import type { TurnEvent } from '../translate/turn.ts';
import { isErrorShape } from '../upstream-failure.ts';
import { ResponsesReader } from './reader.ts';

/** A whole response is what the last event of a stream holds, so the reader of streams takes it. */
export function readResponsesBody(body: Json): readonly TurnEvent[] {
  if (!isObject(body)) broken('it is not a JSON object.');
  const status = stringAt(body, 'status');
  if (isErrorShape(body) || status === 'failed' || status === 'cancelled') return [{ type: 'failure', error: body }];
  if (!Array.isArray(body.output)) broken('it has no output.');
  const type = status === 'incomplete' ? 'response.incomplete' : 'response.completed';
  return new ResponsesReader().take(type, { response: body });
}
