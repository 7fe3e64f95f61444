const NEEDS_ESCAPE = /["\\]/;

/** An array as PostgreSQL reads it. The driver's own way takes three times as long (1.8 against 0.6 µs for sixteen values), because it takes every number for a text. */
export function arrayLiteral(values: readonly unknown[]): string {
  let literal = '{';
  for (const value of values) {
    if (literal.length > 1) literal += ',';
    if (value === null || value === undefined) literal += 'NULL';
    else if (value instanceof Uint8Array) literal += `"\\\\x${Buffer.from(value).toString('hex')}"`;
    else if (typeof value !== 'string') literal += String(value);
    else literal += quoted(value);
  }
  return `${literal}}`;
}

/** Within quotes a row of an array would have to be escaped, which made 2 KB of garbage per request (W1). */
const NEEDS_QUOTES = /[",()\\\s]/;

/** A row of a type of the schema, as PostgreSQL reads it: what is null is empty. */
export function rowLiteral(values: readonly unknown[]): string {
  let literal = '(';
  let separator = '';
  for (const value of values) {
    literal += separator;
    separator = ',';
    if (value === null || value === undefined) continue;
    if (typeof value !== 'string') literal += String(value);
    else literal += value === '' || NEEDS_QUOTES.test(value) ? quoted(value) : value;
  }
  return `${literal})`;
}

function quoted(value: string): string {
  return `"${NEEDS_ESCAPE.test(value) ? value.replaceAll(/["\\]/g, '\\$&') : value}"`;
}
