/** Finds an object of a JSON text that has a member twice, for the refusal that names it. */
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  closingQuote,
  memberName,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipSpace,
} from './scan.ts';

/** An object or list that is open at the place that was reached. */
interface Open {
  /** The names that were read of an object, the last of them at the end; null for a list. */
  readonly names: Set<string> | null;
  name: string;
  /** The place of the element in a list. */
  index: number;
}

/**
 * The path of the first member whose name its object has already; null where there is none. `text` is the Latin-1 view of
 * well-formed JSON. One pass, however deep the text is nested.
 */
export function repeatedMember(text: string): string | null {
  const open: Open[] = [];
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const close = closingQuote(text, at + 1, text.length);
      const inner = open.at(-1);
      if (close === -1 || inner === undefined) return null;
      const after = skipSpace(text, close + 1);
      if (inner.names !== null && text.charCodeAt(after) === COLON) {
        inner.name = memberName(text, at, close);
        if (inner.names.has(inner.name)) return pathOf(open);
        inner.names.add(inner.name);
      }
      at = after;
      continue;
    }
    if (code === OPEN_BRACE) open.push({ names: new Set(), name: '', index: 0 });
    else if (code === OPEN_BRACKET) open.push({ names: null, name: '', index: 0 });
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) open.pop();
    else if (code === COMMA) (open.at(-1) as Open).index++;
    at++;
  }
  return null;
}

function pathOf(open: readonly Open[]): string {
  let path = '';
  for (const { names, name, index } of open) {
    if (names === null) path += `[${index}]`;
    else path += path === '' ? name : `.${name}`;
  }
  return path;
}
