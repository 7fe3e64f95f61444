/** The response object that the gateway writes itself, with every field of the public schemas. */
import type { TokenCounts } from '../../core/usage.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { AnswerContext, TurnEvent } from '../translate/turn.ts';
import { requestedFields } from './complete.ts';
import { writeResponsesTokens } from './tokens.ts';

interface ResponseState {
  readonly id: string;
  readonly createdS: number;
  readonly completedS: number | null;
  readonly status: string;
  readonly incompleteReason: string | null;
  readonly output: readonly object[];
  readonly tokens: TokenCounts | null;
  readonly serviceTier: string | undefined;
}

export function responseObject(context: AnswerContext, state: ResponseState): JsonObject {
  const { request } = context;
  const requested = requestedFields(context);
  return {
    id: state.id,
    object: 'response',
    created_at: state.createdS,
    completed_at: state.completedS,
    status: state.status,
    error: null,
    incomplete_details: state.incompleteReason === null ? null : { reason: state.incompleteReason },
    model: context.publicModel,
    output: state.output as readonly JsonObject[],
    usage: state.tokens ? writeResponsesTokens(state.tokens) : null,
    ...requested,
    service_tier: state.serviceTier ?? requested.service_tier,
    // Not required, but read by the official clients.
    access_programs: null,
    conversation: null,
    moderation: null,
    prompt: request.prompt ?? null,
    prompt_cache_retention: request.prompt_cache_retention ?? null,
  };
}

/** How the answer ended: the status, and what is missing where something is. */
export function responseEnding(
  finish: Extract<TurnEvent, { type: 'finish' }> | null,
  refused: boolean,
): { readonly status: 'completed' | 'incomplete'; readonly reason: string | null } {
  switch (finish?.reason) {
    case 'length':
    case 'context':
      return { status: 'incomplete', reason: 'max_output_tokens' };
    case 'content-filter':
      return { status: 'incomplete', reason: 'content_filter' };
    case 'refusal':
      return refused ? { status: 'completed', reason: null } : { status: 'incomplete', reason: 'content_filter' };
    default:
      return { status: 'completed', reason: null };
  }
}
