import type { RequestFacts } from '../wire/format.ts';
import type { ParsedBody } from '../wire/json/parse-request.ts';

/** A body that its format's schema and rules have accepted, and what admission and lanes need to know of it. */
export interface ValidRequest extends ParsedBody {
  readonly facts: RequestFacts;
}
