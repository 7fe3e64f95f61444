import { Refusal } from '../../storage/errors.ts';

/** Texts of these go to the database as JSON of the gateway, which has no such characters. */
const UNCHECKED: ReadonlySet<string> = new Set(['input', 'output', 'response', 'body']);

/** PostgreSQL's text holds no NUL, and nothing that is not well-formed Unicode. */
export function checkText(fields: object): void {
  for (const name in fields) {
    const value: unknown = fields[name as keyof typeof fields];
    if (typeof value === 'string') {
      if (UNCHECKED.has(name)) continue;
      if (value.includes('\0') || !value.isWellFormed()) {
        throw new Refusal('a text holds a character that the database cannot store');
      }
    } else if (typeof value === 'object' && value !== null && !(value instanceof Uint8Array)) checkText(value);
  }
}
