/**
 * An optional member that is sent as `null` counts as omitted: it is cut out of the body before anything reads it, so that
 * neither the validation nor a provider meets it. What the public schemas do not know stays as it was sent.
 */
import type { Json, JsonObject } from '../../lib/json.ts';
import { memberRanges } from './edit.ts';
import { type ParsedBody, parseBody } from './parse-request.ts';
import { type Layout, layoutAt, OPEN_BRACE, OPEN_BRACKET, objectsOfList, type Range } from './scan.ts';

/** The optional members of an object, and those of the objects inside it. Other members are never looked into. */
export interface OptionalFields {
  readonly optional: readonly string[];
  /** Members that hold an object, or a list of objects. */
  readonly inside?: Readonly<Record<string, OptionalFields>>;
  /** Where the optional members depend on the value of one member: what they are for each value, and otherwise. */
  readonly by?: { readonly member: string; readonly values: Readonly<Record<string, OptionalFields>> };
}

const NULL = 'null';

/** The same object where there is nothing to omit. */
export function omitNulls(parsed: ParsedBody, fields: OptionalFields): ParsedBody {
  if (!holdsNull(parsed.body)) return parsed;
  const finder = new NullFinder(parsed.bytes.toString('latin1'));
  finder.object(parsed.layout, fields);
  if (finder.ranges.length === 0) return parsed;
  return { ...parseBody(without(parsed.bytes, finder.ranges)), received: parsed.received };
}

/** Looking for the word in the bytes took 100 us of 200 KB: every n of a prompt may begin it. The depth is bounded by now. */
function holdsNull(value: Json | undefined): boolean {
  if (typeof value !== 'object') return false;
  if (value === null) return true;
  if (Array.isArray(value)) return value.some(holdsNull);
  for (const name in value) if (holdsNull((value as JsonObject)[name])) return true;
  return false;
}

/** One pass over the text, in its order. */
class NullFinder {
  /** The parts to cut out, in ascending order. */
  readonly ranges: Range[] = [];
  readonly #text: string;
  /** The next occurrence of the word: a value that ends before it is not looked into. */
  #nextNull: number;

  constructor(text: string) {
    this.#text = text;
    this.#nextNull = text.indexOf(NULL);
  }

  object(layout: Layout, fields: OptionalFields): void {
    const { optional, inside } = this.#applying(layout, fields);
    const text = this.#text;
    const omitted = new Set(
      layout.members.filter(({ name, valueStart }) => text.startsWith(NULL, valueStart) && optional.includes(name)),
    );
    const ranges = memberRanges(text, layout, (member) => omitted.has(member));
    let next = 0;
    for (const member of layout.members) {
      if (omitted.has(member)) {
        const range = ranges[next++];
        if (range !== undefined) this.ranges.push(range);
        continue;
      }
      // A client's `valueOf` is not a member of the table.
      const inner = inside !== undefined && Object.hasOwn(inside, member.name) ? inside[member.name] : undefined;
      if (inner !== undefined && this.#holdsNull(member.valueStart, member.valueEnd)) {
        this.#value(member.valueStart, member.valueEnd, inner);
      }
    }
  }

  #value(start: number, end: number, fields: OptionalFields): void {
    const text = this.#text;
    const first = text.charCodeAt(start);
    if (first === OPEN_BRACE) {
      const layout = layoutAt(text, start);
      if (layout !== null) this.object(layout, fields);
    } else if (first === OPEN_BRACKET) {
      for (const element of objectsOfList(text, start, end)) {
        if (this.#holdsNull(element.start, element.end)) this.#value(element.start, element.end, fields);
      }
    }
  }

  #holdsNull(start: number, end: number): boolean {
    if (this.#nextNull !== -1 && this.#nextNull < start) this.#nextNull = this.#text.indexOf(NULL, start);
    return this.#nextNull !== -1 && this.#nextNull < end;
  }

  #applying(layout: Layout, fields: OptionalFields): OptionalFields {
    if (fields.by === undefined) return fields;
    const { member, values } = fields.by;
    const found = layout.members.find(({ name }) => name === member);
    const value = found && this.#text.slice(found.valueStart + 1, found.valueEnd - 1);
    return value !== undefined && Object.hasOwn(values, value) ? (values[value] ?? fields) : fields;
  }
}

function without(bytes: Buffer, ranges: readonly Range[]): Buffer {
  const kept: Buffer[] = [];
  let from = 0;
  for (const { start, end } of ranges) {
    kept.push(bytes.subarray(from, start));
    from = end;
  }
  kept.push(bytes.subarray(from));
  return Buffer.concat(kept);
}
