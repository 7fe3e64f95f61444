/**
 * An optional member that is sent as `null` counts as omitted: it is cut out of the body before anything reads it, so that
 * neither the validation nor a provider meets it. What the public schemas do not know stays as it was sent.
 */
import { type ParsedBody, parseBody } from './parse-request.ts';
import {
  type Layout,
  type Member,
  memberRanges,
  OPEN_BRACE,
  OPEN_BRACKET,
  objectLayout,
  type Range,
  skipSpace,
  valueEnd,
} from './scan.ts';

/** The optional members of an object, and those of the objects inside it. Other members are never looked into. */
export interface OptionalFields {
  readonly optional: readonly string[];
  /** Members that hold an object, or a list of objects. */
  readonly inside?: Readonly<Record<string, OptionalFields>>;
  /** Where the optional members depend on the value of one member: what they are for each value, and otherwise. */
  readonly by?: { readonly member: string; readonly values: Readonly<Record<string, OptionalFields>> };
}

const NULL = 'null';
const COMMA = 0x2c;
const CLOSE_BRACKET = 0x5d;
const NO_LIMITS = { depthMax: Number.MAX_SAFE_INTEGER, membersMax: Number.MAX_SAFE_INTEGER };

/** The same object where there is nothing to omit. */
export function omitNulls(parsed: ParsedBody, fields: OptionalFields): ParsedBody {
  if (!parsed.bytes.includes(NULL)) return parsed;
  const finder = new NullFinder(parsed.bytes.toString('latin1'));
  finder.object(parsed.layout, fields);
  if (finder.ranges.length === 0) return parsed;
  return { ...parseBody(without(parsed.bytes, finder.ranges)), received: parsed.received };
}

/** One pass over the text, in its order. */
class NullFinder {
  /** What is to be cut out, in ascending order. */
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
    const isOmitted = ({ name, valueStart }: Member): boolean =>
      text.startsWith(NULL, valueStart) && optional.includes(name);
    const ranges = memberRanges(text, layout, isOmitted);
    let next = 0;
    for (const member of layout.members) {
      const range = ranges[next];
      if (range !== undefined && range.end >= member.valueEnd && isOmitted(member)) {
        this.ranges.push(range);
        next += 1;
        continue;
      }
      const inner = inside?.[member.name];
      if (inner !== undefined && this.#holdsNull(member.valueStart, member.valueEnd)) {
        this.#value(member.valueStart, member.valueEnd, inner);
      }
    }
  }

  #value(start: number, end: number, fields: OptionalFields): void {
    const text = this.#text;
    const first = text.charCodeAt(start);
    if (first === OPEN_BRACE) {
      const layout = objectLayout(text, start, NO_LIMITS);
      if (layout !== null && typeof layout !== 'string') this.object(layout, fields);
    } else if (first === OPEN_BRACKET) {
      let at = skipSpace(text, start + 1);
      while (at < end && text.charCodeAt(at) !== CLOSE_BRACKET) {
        const elementEnd = valueEnd(text, at, end);
        if (elementEnd === -1) return;
        if (text.charCodeAt(at) === OPEN_BRACE && this.#holdsNull(at, elementEnd)) this.#value(at, elementEnd, fields);
        at = skipSpace(text, elementEnd);
        if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
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
    const found = layout.members.findLast(({ name }) => name === member);
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
