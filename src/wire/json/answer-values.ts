/**
 * How many JSON values a provider may send at once, as a whole answer or as one event. An answer may have 64 MB: of empty
 * objects, at some 60 bytes of memory for each three of text, that is more than the heap of a process.
 */
import { type Json, parseJson } from '../../lib/json.ts';
import { hasMoreValues } from '../../lib/json-values.ts';
import { broken } from '../errors.ts';

/** What answers are full of are log probabilities: with the 20 most likely of each of 10,000 tokens there are 1.7 million. */
export const ANSWER_VALUES_MAX = 2_000_000;
export const TOO_MANY_VALUES = `more than ${ANSWER_VALUES_MAX} JSON values`;

/**
 * Throws `GatewayError('upstream_error')`. What is smaller than 4 MB cannot have so many and is not looked at. Above, counting
 * 60 MB of text takes 6 ms beside the 250 of parsing it, and 60 MB of log probabilities 290 ms beside 990.
 */
export function checkValues(answer: Buffer): void {
  if (hasMoreValues(answer, ANSWER_VALUES_MAX)) broken(`it has ${TOO_MANY_VALUES}.`);
}

/** A whole answer. Undefined where it is not JSON; throws where it has too many values. */
export function parseAnswer(answer: Buffer): Json | undefined {
  checkValues(answer);
  return parseJson(answer.toString());
}
