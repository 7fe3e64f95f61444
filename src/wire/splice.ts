/**
 * Edits of a JSON text by byte ranges. Nothing is serialised anew: numbers, key order and white space outside the
 * edited ranges stay as they were written.
 */
import { type Layout, type Member, objectLayout } from './scan.ts';

/** Replaces the bytes from `start` to `end`; an insertion where both are equal. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** What a member shall say; a path has one or two names. */
export interface Change {
  readonly path: readonly [name: string] | readonly [name: string, child: string];
  /** The new value as JSON text. */
  readonly json: string;
}

export interface Range {
  readonly start: number;
  readonly end: number;
}

const NO_LIMITS = { depthMax: Number.MAX_SAFE_INTEGER, membersMax: Number.MAX_SAFE_INTEGER };

/** Byte ranges of the values at these paths (`model`, `stream_options.include_usage`); null where there is none. */
export function locate<Path extends string>(bytes: Buffer, paths: readonly Path[]): Record<Path, Range | null> {
  const text = bytes.toString('latin1');
  const layout = layoutAt(text, 0);
  const found = Object.create(null) as Record<Path, Range | null>;
  for (const path of paths) {
    const [name = '', child] = path.split('.');
    let member = layout === null ? undefined : lastNamed(layout, name);
    if (member !== undefined && child !== undefined) {
      const inner = layoutAt(text, member.valueStart);
      member = inner === null ? undefined : lastNamed(inner, child);
    }
    found[path] = member === undefined ? null : { start: member.valueStart, end: member.valueEnd };
  }
  return found;
}

/**
 * The text with the changes made: the value replaced where the member exists, the member inserted behind the opening
 * brace where it does not. A parent that is missing or no object becomes an object with that one child.
 * `bytes` must be a well-formed JSON object; `layout` is its layout, where the caller has it already.
 */
export function change(bytes: Buffer, changes: readonly Change[], layout?: Layout): Buffer {
  if (changes.length === 0) return bytes;
  const top = layout ?? layoutAt(bytes.toString('latin1'), 0);
  if (top === null) throw new TypeError('The text to change is not a JSON object.');
  const edits: Edit[] = [];
  const inserted: string[] = [];
  for (const { path, json } of changes) {
    const [name, child] = path;
    const members = top.members.filter((member) => member.name === name);
    if (members.length === 0) {
      inserted.push(`${JSON.stringify(name)}:${child === undefined ? json : `{${JSON.stringify(child)}:${json}}`}`);
    }
    for (const member of members) {
      if (child === undefined) {
        edits.push({ start: member.valueStart, end: member.valueEnd, text: json });
      } else {
        edits.push(...childEdits(bytes, member, child, json));
      }
    }
  }
  if (inserted.length > 0) edits.push(insertion(top, inserted.join(',')));
  return splice(bytes, edits);
}

function childEdits(bytes: Buffer, parent: Member, child: string, json: string): Edit[] {
  const base = parent.valueStart;
  const inner = layoutAt(bytes.toString('latin1', base, parent.valueEnd), 0);
  if (inner === null) {
    return [{ start: parent.valueStart, end: parent.valueEnd, text: `{${JSON.stringify(child)}:${json}}` }];
  }
  const members = inner.members.filter((member) => member.name === child);
  if (members.length === 0) return [insertion(inner, `${JSON.stringify(child)}:${json}`, base)];
  return members.map((member) => ({ start: base + member.valueStart, end: base + member.valueEnd, text: json }));
}

function insertion(layout: Layout, members: string, base = 0): Edit {
  const at = base + layout.open + 1;
  return { start: at, end: at, text: layout.members.length === 0 ? members : `${members},` };
}

/** The bytes with the edits made; the edits must not overlap. */
export function splice(bytes: Buffer, edits: readonly Edit[]): Buffer {
  const sorted = [...edits].sort((a, b) => a.start - b.start);
  const parts: Buffer[] = [];
  let from = 0;
  for (const edit of sorted) {
    if (edit.start > from) parts.push(bytes.subarray(from, edit.start));
    if (edit.text !== '') parts.push(Buffer.from(edit.text));
    from = edit.end;
  }
  parts.push(bytes.subarray(from));
  return Buffer.concat(parts);
}

function layoutAt(text: string, start: number): Layout | null {
  const layout = objectLayout(text, start, NO_LIMITS);
  return typeof layout === 'string' ? null : layout;
}

function lastNamed(layout: Layout, name: string): Member | undefined {
  return layout.members.findLast((member) => member.name === name);
}
