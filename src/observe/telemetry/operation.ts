/** What a request asks for, as `gen_ai.operation.name` has it. */
import { onlyCounts } from '../../core/endpoints.ts';
import type { RequestRecord } from '../../core/request-record.ts';

/** The conventions have one name for it, whatever the format. */
export const GENERATION = 'chat';

/** For counting tokens the conventions have no name. Null where no model is asked for anything. */
export function operationOf({ endpoint, format }: RequestRecord): string | null {
  if (format === null) return null;
  return onlyCounts(endpoint) ? 'count_tokens' : GENERATION;
}
