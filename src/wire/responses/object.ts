/** The response object with every field of the public schema, whatever the upstream says of itself. */
import type { TokenCounts } from '../../core/usage.ts';
import { type Json, type JsonObject, objectAt } from '../../lib/json.ts';
import type { AnswerContext, TurnEvent } from '../translate/turn.ts';
import { writeResponsesTokens } from './tokens.ts';

export interface ResponseState {
  readonly id: string;
  readonly createdS: number;
  readonly completedS: number | null;
  readonly status: string;
  readonly incompleteReason: string | null;
  readonly output: readonly object[];
  readonly tokens: TokenCounts | null;
  readonly serviceTier: string | undefined;
}

export function responseObject(context: AnswerContext, state: ResponseState): object {
  const { request } = context;
  const given = (name: string, otherwise: Json): Json => request[name] ?? otherwise;
  const reasoning: JsonObject = objectAt(request, 'reasoning') ?? {};
  const text: JsonObject = objectAt(request, 'text') ?? {};
  return {
    id: state.id,
    object: 'response',
    created_at: state.createdS,
    status: state.status,
    background: false,
    completed_at: state.completedS,
    conversation: null,
    error: null,
    incomplete_details: state.incompleteReason === null ? null : { reason: state.incompleteReason },
    instructions: given('instructions', null),
    max_output_tokens: context.outputLimit ?? given('max_output_tokens', null),
    max_tool_calls: given('max_tool_calls', null),
    metadata: given('metadata', {}),
    model: context.publicModel,
    moderation: null,
    output: state.output,
    parallel_tool_calls: given('parallel_tool_calls', true),
    previous_response_id: given('previous_response_id', null),
    prompt: given('prompt', null),
    prompt_cache_key: given('prompt_cache_key', null),
    prompt_cache_retention: given('prompt_cache_retention', null),
    reasoning: { ...reasoning, effort: reasoning.effort ?? null, summary: reasoning.summary ?? null },
    safety_identifier: given('safety_identifier', null),
    service_tier: state.serviceTier ?? given('service_tier', 'default'),
    store: given('store', false),
    temperature: given('temperature', 1),
    text: { ...text, format: text.format ?? { type: 'text' }, verbosity: text.verbosity ?? 'medium' },
    tool_choice: given('tool_choice', 'auto'),
    tools: given('tools', []),
    top_logprobs: given('top_logprobs', 0),
    top_p: given('top_p', 1),
    truncation: given('truncation', 'disabled'),
    usage: state.tokens ? writeResponsesTokens(state.tokens) : null,
    user: given('user', null),
    access_programs: null,
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
