/** Events of the hub → a whole response. */
import type { AnswerContext, TurnEvent } from '../translate/turn.ts';
import { ResponsesWriter } from './writer.ts';

/** The last event of a stream holds the whole response, so the writer of streams makes it. */
export function writeResponsesBody(events: readonly TurnEvent[], context: AnswerContext): object {
  const writer = new ResponsesWriter(context);
  for (const event of events) writer.write(event);
  return writer.response();
}
