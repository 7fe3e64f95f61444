/** The state of a responses request: what it refers to, and whether its answer can be referred to later. */
import type { Json } from '../lib/json.ts';
import type { AnswerState } from '../wire/responses/answer-state.ts';
import type { ResponseMemory } from './response-memory.ts';

export interface RequestState {
  /** The state that the answer is to show: `store` where the response is to be kept. */
  readonly answer: AnswerState;
  /** The items that the client sent with this request itself, references among them. */
  newInput: readonly Json[];
  /** The response that is continued, and all that it continues. */
  readonly chain: ReadonlySet<string>;
  /** Reasoning and compactions in the input that come from the store: the provider that made each item, by the id of the item. */
  readonly storedReasoning: ReadonlyMap<string, string>;
  /** Where the answer is remembered that is not kept. */
  readonly memory: ResponseMemory | null;
}

/** Whether a later request may refer to the answer, and so to the input. */
export function remembers({ answer, memory }: RequestState): boolean {
  return answer.store || memory !== null;
}
