/**
 * Which models a list allows. An entry is a model's id, or a pattern in which each `*` stands for any characters, also none and
 * also slashes; everything else stands for itself, in its case of letters.
 */

export function allowsModel(list: readonly string[], id: string): boolean {
  return list.some((entry) => matchesModel(entry, id));
}

/** Whether an entry allows all that another one does. Of two patterns that is told only where the first ends in its only `*`. */
export function coversModels(entry: string, other: string): boolean {
  if (!other.includes('*')) return matchesModel(entry, other);
  const [first = '', last, ...more] = entry.split('*');
  return entry === other || (last === '' && more.length === 0 && other.slice(0, other.indexOf('*')).startsWith(first));
}

/** In time that grows with the length of both, however many `*` there are. */
export function matchesModel(pattern: string, id: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return pattern === id;
  if (id.length < first.length + last.length || !id.startsWith(first) || !id.endsWith(last)) return false;
  let from = first.length;
  const end = id.length - last.length;
  for (const part of rest) {
    const found = id.indexOf(part, from);
    if (found < 0 || found + part.length > end) return false;
    from = found + part.length;
  }
  return true;
}
