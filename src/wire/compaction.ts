/** Requests that let the provider summarise a conversation that has become long. */
import { arrayAt, isObject, type JsonObject, objectAt, stringAt } from '../lib/json.ts';

/** Whether the model may be run over the input once more, to summarise it, beside the run that answers. */
export function compactsMidway({ context_management: management }: JsonObject): boolean {
  if (management === undefined || management === null) return false;
  // Messages have a list of edits, responses have a list.
  const edits = Array.isArray(management)
    ? management
    : isObject(management)
      ? arrayAt(management, 'edits')
      : undefined;
  return edits?.some((edit) => isObject(edit) && stringAt(edit, 'type')?.startsWith('compact') === true) ?? false;
}

/** This holds also where the summary is all that is asked for. */
export function asksForCompaction(body: JsonObject): boolean {
  return objectAt(body, 'compaction') !== undefined || compactsMidway(body);
}
