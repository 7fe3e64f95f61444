/** The events of a response that has no output and is not to have any. */
import type { TokenCounts } from '../../core/usage.ts';
import type { JsonObject } from '../../lib/json.ts';
import { eventFrame } from '../translate/answer-writing.ts';
import { type AnswerState, echoedRequest } from './answer-state.ts';
import { responseObject } from './object.ts';

interface PreparedResponse {
  readonly id: string;
  readonly nowS: number;
  readonly publicModel: string;
  /** As it would have been sent upstream. */
  readonly request: JsonObject;
  readonly state: AnswerState;
  readonly tokens: TokenCounts;
}

export function preparedFrames({ id, nowS, publicModel, request, state, tokens }: PreparedResponse): Buffer {
  const context = {
    publicModel,
    request: echoedRequest(request, state),
    nowS: () => nowS,
    answerId: id,
    includeUsage: true,
    likelyInputTokens: () => 0,
    outputLimit: null,
  };
  const object = (status: 'in_progress' | 'completed'): JsonObject => {
    const isDone = status === 'completed';
    const ending = { completedS: isDone ? nowS : null, tokens: isDone ? tokens : null };
    const none = { incompleteReason: null, output: [], serviceTier: undefined };
    return responseObject(context, { id, createdS: nowS, status, ...ending, ...none });
  };
  const events = [
    ['response.created', object('in_progress')],
    ['response.completed', object('completed')],
  ] as const;
  const frames = events.map(([type, response], index) => eventFrame(type, { type, sequence_number: index, response }));
  return Buffer.from(frames.join(''));
}
