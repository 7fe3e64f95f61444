/** Answers through the hub: read in the target's format, written in the client's, metered on the way. */
import { randomUUID } from 'node:crypto';
import { GatewayError } from '../core/conditions.ts';
import { nowS } from '../core/time.ts';
import type { JsonObject } from '../lib/json.ts';
import { broken, UnfitAnswer } from './errors.ts';
import type { WireFormat } from './format.ts';
import { parseAnswer } from './json/answer-values.ts';
import type { Lane, Seen } from './lane.ts';
import { OutputSample, sampleOf } from './output-sample.ts';
import { type AnswerState, echoedRequest } from './responses/answer-state.ts';
import { AnswerFilter } from './translate/answer-filter.ts';
import { TranslateStream, TurnMeter } from './translate/stream.ts';
import type { ToolNames } from './translate/tool-names.ts';
import type { AnswerContext, TurnEvent } from './translate/turn.ts';
import { readFailure } from './upstream-failure.ts';

/** The options of a lane's caller for its answers. */
export interface AnswerOptions {
  /** The id that the client asked for: what `model` says in everything it gets back. */
  readonly publicModel: string;
  /** The estimated input, for usage that must be shown before the provider reports it; 0 by default. */
  readonly likelyInputTokens?: (() => number) | undefined;
  /** The most tokens that the request can take; without a bound by default. */
  readonly tokensMax?: (() => number) | undefined;
  readonly nowS?: (() => number) | undefined;
  /** The id for answers whose provider gives none. */
  readonly answerId?: string | undefined;
  /** The state of a response that the gateway keeps, as its answer shows it. */
  readonly state?: AnswerState | undefined;
}

interface AnswersRequest extends AnswerOptions {
  readonly from: WireFormat;
  readonly to: WireFormat;
  /** The client's request, which some answers repeat. */
  readonly body: JsonObject;
  readonly names: ToolNames;
  /** Stop sequences that the target does not take. */
  readonly stop: readonly string[];
  /** Whether the answer must be a JSON object, and the target could only be asked for one. */
  readonly jsonObject?: boolean | undefined;
  readonly includeUsage: boolean;
  /** As it was sent upstream; null before that. */
  outputLimit(): number | null;
}

/** The half of a lane that carries answers. */
export type Answers = Pick<Lane, 'whole' | 'stream'>;

// Not made beside the request: a function keeps what others beside it refer to, and a stream keeps this one.
const none = (): number => 0;

export function answersThrough(request: AnswersRequest): Answers {
  const { from: client, to: target } = request;
  const context = (): AnswerContext => ({
    publicModel: request.publicModel,
    request: echoedRequest(request.body, request.state),
    hidesEncrypted: request.state?.hidesEncrypted,
    nowS: request.nowS ?? nowS,
    answerId: request.answerId ?? randomUUID().replaceAll('-', ''),
    includeUsage: request.includeUsage,
    likelyInputTokens: request.likelyInputTokens ?? none,
    outputLimit: request.outputLimit(),
  });
  const filter = (): AnswerFilter =>
    new AnswerFilter({
      names: request.names,
      stop: request.stop,
      jsonObject: request.jsonObject,
      explainsRefusals: client.explainsRefusals,
    });
  return {
    whole(answer) {
      const parsed = parseAnswer(answer);
      if (parsed === undefined) broken('it is not JSON.');
      const turnMeter = new TurnMeter(null, request.tokensMax);
      const read = target.readBody(parsed);
      for (const event of read) {
        if (event.type === 'failure') {
          const { condition, message, kept } = readFailure(event.error, true);
          throw new GatewayError(condition, { message, kept });
        }
        turnMeter.take(event);
      }
      const meter = turnMeter.read();
      const sample = meter.reportedFinal ? null : sampleOf(textsOf(read));
      const events = filtered(read, filter(), { ...meter, sample });
      return { body: Buffer.from(JSON.stringify(client.writeBody(events, context()))), meter, sample };
    },
    stream: () =>
      new TranslateStream(
        target.reader(),
        client.writer(context()),
        filter(),
        new TurnMeter(new OutputSample(), request.tokensMax),
      ),
  };
}

function filtered(events: readonly TurnEvent[], filter: AnswerFilter, owed: Seen): TurnEvent[] {
  try {
    return events.flatMap((event) => (event.type === 'unread' ? [] : filter.apply(event)));
  } catch (error) {
    throw error instanceof UnfitAnswer ? new UnfitAnswer(error.message, owed) : error;
  }
}

function* textsOf(events: readonly TurnEvent[]): Generator<string> {
  for (const event of events) {
    if ('text' in event) yield event.text;
    else if (event.type === 'tool-start') yield event.tool.name;
  }
}
