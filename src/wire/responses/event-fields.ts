/** The members that the public schemas require of each stream event beside its type. */

/** The events that carry an object, by the member that holds it. They never reach the client in pieces. */
export type NestedMember = 'response' | 'item' | 'part';

const NESTED: ReadonlyMap<string, NestedMember> = new Map<string, NestedMember>(
  Object.entries({
    'response.created': 'response',
    'response.queued': 'response',
    'response.in_progress': 'response',
    'response.completed': 'response',
    'response.incomplete': 'response',
    'response.output_item.added': 'item',
    'response.output_item.done': 'item',
    'response.content_part.added': 'part',
    'response.content_part.done': 'part',
    'response.reasoning_summary_part.added': 'part',
    'response.reasoning_summary_part.done': 'part',
  } as const),
);

export function nestedMember(type: string): NestedMember | undefined {
  return NESTED.get(type);
}

/** Events whose deltas are sound. */
const SOUND = new Set(['response.audio.delta', 'response.output_audio.delta']);
/** Those, and events whose deltas are what a hosted tool has returned. */
const NOT_GENERATED = new Set([
  ...SOUND,
  'response.shell_call_output_content.delta',
  'response.shell_call_output_content.done',
]);

export function isSound(type: string): boolean {
  return SOUND.has(type);
}

/** Whether an event of this type has no text that the model has written. */
export function isNotGenerated(type: string): boolean {
  return NOT_GENERATED.has(type);
}

/** Whether an event of this type shows what has mostly come in deltas before. */
export function isRepeating(type: string): boolean {
  return type.endsWith('.done') || type.endsWith('.added');
}

/** Whether the text of such an event is in the member that it is for: others have labels. */
export function hasOwnText(type: string): boolean {
  return type.endsWith('.delta') || NESTED.has(type);
}

/** Fields that are one value, each as a bit. */
export const FLAT_FIELDS = {
  sequence_number: 1,
  item_id: 2,
  output_index: 4,
  content_index: 8,
  summary_index: 16,
  logprobs: 32,
} as const;

const { sequence_number, item_id, output_index, content_index, summary_index, logprobs } = FLAT_FIELDS;
const OF_ITEM = sequence_number | item_id | output_index;
const OF_CONTENT = OF_ITEM | content_index;
const OF_SUMMARY = OF_ITEM | summary_index;

const REQUIRED: ReadonlyMap<string, number> = new Map(
  Object.entries({
    'response.output_item.added': sequence_number | output_index,
    'response.output_item.done': sequence_number | output_index,
    'response.content_part.added': OF_CONTENT,
    'response.content_part.done': OF_CONTENT,
    'response.output_text.delta': OF_CONTENT | logprobs,
    'response.output_text.done': OF_CONTENT | logprobs,
    'response.output_text.annotation.added': OF_CONTENT,
    'response.refusal.delta': OF_CONTENT,
    'response.refusal.done': OF_CONTENT,
    'response.reasoning_text.delta': OF_CONTENT,
    'response.reasoning_text.done': OF_CONTENT,
    'response.reasoning_summary_part.added': OF_SUMMARY,
    'response.reasoning_summary_part.done': OF_SUMMARY,
    'response.reasoning_summary_text.delta': OF_SUMMARY,
    'response.reasoning_summary_text.done': OF_SUMMARY,
    'response.function_call_arguments.delta': OF_ITEM,
    'response.function_call_arguments.done': OF_ITEM,
    'response.custom_tool_call_input.delta': OF_ITEM,
    'response.custom_tool_call_input.done': OF_ITEM,
  }),
);

/** The flat fields that an event must have, as bits; every event has a number. */
export function flatFieldsOf(type: string): number {
  return REQUIRED.get(type) ?? sequence_number;
}
