/**
 * Edits of a JSON text by byte ranges. Nothing is serialised again: numbers, key order and white space outside the
 * edited ranges stay as they were written.
 */
import {
  COMMA,
  type Layout,
  layoutAt,
  type Member,
  OPEN_BRACKET,
  objectsOfList,
  type Range,
  skipSpace,
} from './scan.ts';

/** Replaces the bytes from `start` to `end`; an insertion where both are equal. */
interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The value that a member should have; a path has one or two names. */
export interface Change {
  readonly path: readonly [name: string] | readonly [name: string, child: string];
  /** The new value as JSON text; null takes a member of the top level out. */
  readonly json: string | null;
}

const NONE: ReadonlySet<string> = new Set();

/**
 * The text with the changes made: the value replaced where the member exists, the member inserted behind the opening
 * brace where it does not. A parent that is missing or no object becomes an object with that one child.
 * `bytes` must be a well-formed JSON object; `layout` is its layout, where the caller has it already.
 */
export function change(bytes: Buffer, changes: readonly Change[], layout?: Layout): Buffer {
  return changes.length === 0 ? bytes : splice(bytes, editsFor(bytes, changes, layout));
}

/** The same in pieces that lie in `bytes` as far as they were not changed: a large text is not copied. */
export function changeInPieces(bytes: Buffer, changes: readonly Change[], layout?: Layout): readonly Buffer[] {
  const pieces: Buffer[] = [];
  let from = 0;
  for (const { start, end, text } of editsFor(bytes, changes, layout)) {
    if (start > from) pieces.push(bytes.subarray(from, start));
    if (text !== '') pieces.push(Buffer.from(text));
    from = end;
  }
  pieces.push(bytes.subarray(from));
  return pieces;
}

/** In the order of the text. */
function editsFor(bytes: Buffer, changes: readonly Change[], layout?: Layout): Edit[] {
  const top = layout ?? layoutAt(bytes.toString('latin1'), 0);
  if (top === null) throw new TypeError('The text to change is not a JSON object.');
  const edits: Edit[] = [];
  let inserted = '';
  const removed = removedBy(changes);
  if (removed.size > 0) {
    const ranges = memberRanges(bytes.toString('latin1'), top, ({ name }) => removed.has(name));
    edits.push(...ranges.map((range) => ({ ...range, text: '' })));
  }
  for (const { path, json } of changes) {
    const [name, child] = path;
    if (json === null) continue;
    let found = false;
    for (const member of top.members) {
      if (member.name !== name) continue;
      found = true;
      if (child === undefined) edits.push({ start: member.valueStart, end: member.valueEnd, text: json });
      else edits.push(...childEdits(bytes, member, child, json));
    }
    if (found) continue;
    if (inserted !== '') inserted += ',';
    inserted += memberText(name, child === undefined ? json : `{${memberText(child, json)}}`);
  }
  if (inserted !== '') edits.push(insertion(top, inserted, 0, removed));
  return edits.length > 1 ? edits.sort((a, b) => a.start - b.start || a.end - b.end) : edits;
}

/** The names of members that are to be taken out: nearly always none. */
function removedBy(changes: readonly Change[]): ReadonlySet<string> {
  if (!changes.some(({ json }) => json === null)) return NONE;
  return new Set(changes.flatMap(({ path, json }) => (json === null ? [path[0]] : [])));
}

/** A value inside the text, by the names of members and the places in lists that lead to it, and what it should say. */
export interface Replacement {
  readonly path: readonly (string | number)[];
  readonly json: string;
}

/** The text with values replaced that exist in it; they do not hold one another. One pass, however many they are. */
export function replaceValues(bytes: Buffer, replacements: readonly Replacement[], layout: Layout): Buffer {
  const edits: Edit[] = [];
  collectMembers(bytes.toString('latin1'), layout, replacements, 0, edits);
  return splice(bytes, edits);
}

/** In the order of the text. `depth`: how many steps of the paths lead here. */
function collectMembers(
  text: string,
  layout: Layout,
  replacements: readonly Replacement[],
  depth: number,
  edits: Edit[],
): void {
  const byStep = Map.groupBy(replacements, ({ path }) => path[depth]);
  for (const { name, valueStart, valueEnd } of layout.members) {
    const wanted = byStep.get(name);
    if (wanted) collectValue(text, { start: valueStart, end: valueEnd }, wanted, depth + 1, edits);
  }
}

/** Only objects are found in lists. */
function collectValue(
  text: string,
  { start, end }: Range,
  replacements: readonly Replacement[],
  depth: number,
  edits: Edit[],
): void {
  const here = replacements.find(({ path }) => path.length === depth);
  if (here) {
    edits.push({ start, end, text: here.json });
    return;
  }
  if (text.charCodeAt(start) === OPEN_BRACKET) {
    const byStep = Map.groupBy(replacements, ({ path }) => path[depth]);
    for (const element of objectsOfList(text, start, end)) {
      const wanted = byStep.get(element.index);
      if (wanted) collectValue(text, element, wanted, depth + 1, edits);
    }
    return;
  }
  const layout = layoutAt(text, start);
  if (layout) collectMembers(text, layout, replacements, depth, edits);
}

function childEdits(bytes: Buffer, parent: Member, child: string, json: string): Edit[] {
  const base = parent.valueStart;
  const inner = layoutAt(bytes.toString('latin1', base, parent.valueEnd), 0);
  if (inner === null) {
    return [{ start: parent.valueStart, end: parent.valueEnd, text: `{${memberText(child, json)}}` }];
  }
  const members = inner.members.filter((member) => member.name === child);
  if (members.length === 0) return [insertion(inner, memberText(child, json), base)];
  return members.map((member) => ({ start: base + member.valueStart, end: base + member.valueEnd, text: json }));
}

function memberText(name: string, json: string): string {
  return `${JSON.stringify(name)}:${json}`;
}

function insertion(layout: Layout, members: string, base = 0, removed: ReadonlySet<string> = NONE): Edit {
  const at = base + layout.open + 1;
  const alone = layout.members.every(({ name }) => removed.has(name));
  return { start: at, end: at, text: alone ? members : `${members},` };
}

/** The bytes with the edits made, in one copy; the edits are in order and do not overlap. */
function splice(bytes: Buffer, edits: readonly Edit[]): Buffer {
  let length = bytes.length;
  for (const { start, end, text } of edits) length += Buffer.byteLength(text) - (end - start);
  const out = Buffer.allocUnsafe(length);
  let from = 0;
  let to = 0;
  for (const { start, end, text } of edits) {
    to += bytes.copy(out, to, from, start);
    to += out.write(text, to);
    from = end;
  }
  bytes.copy(out, to, from);
  return out;
}

/** The parts to cut out of the text so that these members are gone, each with one comma; in the order of the text. */
export function memberRanges(text: string, layout: Layout, isRemoved: (member: Member) => boolean): Range[] {
  const ranges: Range[] = [];
  let end = layout.open + 1;
  let anyKept = false;
  for (const member of layout.members) {
    if (!isRemoved(member)) {
      anyKept = true;
      end = member.valueEnd;
      continue;
    }
    // The comma before it goes too, or, where nothing before it is kept, the comma behind it.
    const comma = skipSpace(text, member.valueEnd);
    const cutEnd = !anyKept && text.charCodeAt(comma) === COMMA ? comma + 1 : member.valueEnd;
    ranges.push({ start: end, end: cutEnd });
    end = cutEnd;
  }
  return ranges;
}
