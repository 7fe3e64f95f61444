/** The events of an answer as the bytes that a responses provider would send. One per call. */
import { randomUUID } from 'node:crypto';
import { nowS } from '../../core/time.ts';
import type { JsonObject } from '../../lib/json.ts';
import { stringAt } from '../../lib/json.ts';
import { FORMATS } from '../../wire/formats.ts';
import { eventFrame } from '../../wire/translate/answer-writing.ts';
import type { AnswerContext, EventWriter, TurnEvent } from '../../wire/translate/turn.ts';

interface AnswerWriter {
  readonly contentType: string;
  /** The bytes that can be sent at once. */
  write(event: TurnEvent): string;
}

export function answerWriter(body: JsonObject): AnswerWriter {
  const context: AnswerContext = {
    publicModel: stringAt(body, 'model') ?? '',
    request: body,
    nowS,
    answerId: randomUUID().replaceAll('-', ''),
    includeUsage: true,
    likelyInputTokens: () => 0,
    outputLimit: null,
    reportedUsageOnly: true,
  };
  return body.stream === true ? streamed(FORMATS.responses.writer(context)) : whole(context);
}

function streamed(writer: EventWriter): AnswerWriter {
  return {
    contentType: 'text/event-stream',
    write(event) {
      if (event.type === 'failure') return eventFrame('error', { type: 'error', error: event.error });
      return writer.write(event) + (event.type === 'end' ? writer.terminal() : '');
    },
  };
}

function whole(context: AnswerContext): AnswerWriter {
  const events: TurnEvent[] = [];
  return {
    contentType: 'application/json',
    write(event) {
      events.push(event);
      if (event.type === 'failure') return JSON.stringify({ error: event.error });
      return event.type === 'end' ? JSON.stringify(FORMATS.responses.writeBody(events, context)) : '';
    },
  };
}
