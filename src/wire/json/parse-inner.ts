/** JSON that lies in a text of a body, as the arguments of a call do: the bounds of the body do not hold for what is in it. */
import { type Json, parseJson } from '../../lib/json.ts';
import { DEPTH_MAX, SCALAR_BYTES_MAX } from './parse-request.ts';
import { skipSpace, type Tally, valueEnd } from './scan.ts';

/** Counts the values in one text after the other; the list or object that a text is does not count. */
export class InnerValues {
  readonly #tally: Tally = { members: 0, values: 0, scalarMax: SCALAR_BYTES_MAX, hasLongScalar: false };

  get count(): number {
    return this.#tally.values;
  }

  /** Whether a body could hold it; what comes behind its value is not looked at, and no parser reads on there. */
  add(text: string): boolean {
    return valueEnd(text, skipSpace(text, 0), text.length, DEPTH_MAX, this.#tally) !== -1;
  }
}

/** Undefined also where no body could hold it, or where it has more values. */
export function parseInner(text: string, valuesMax = Number.POSITIVE_INFINITY): Json | undefined {
  const values = new InnerValues();
  return values.add(text) && values.count <= valuesMax ? parseJson(text) : undefined;
}
