/**
 * How many items, blocks, calls, parts or notes of one kind an answer may have to be read. No model writes so many; each
 * becomes objects and events of its own, so that a few bytes of an answer of a broken provider would cost a kilobyte.
 */
import { arrayAt, isObject, type JsonObject } from '../../lib/json.ts';
import { broken } from '../errors.ts';

export const ANSWER_PARTS_MAX = 10_000;

/** Throws `GatewayError('upstream_error')` where an answer that has so many would get one more. */
export function checkNextPart(count: number): void {
  if (count >= ANSWER_PARTS_MAX) broken(`it has more than ${ANSWER_PARTS_MAX} parts.`);
}

/** The objects of a list in an answer; anything else in it is left out. */
export function partsAt(value: JsonObject, name: string): readonly JsonObject[] {
  const list = arrayAt(value, name) ?? [];
  if (list.length > 0) checkNextPart(list.length - 1);
  return list.filter(isObject);
}
