/** What the schemas of the config file are built of. */
import { Type } from '../lib/schema-builder.ts';

/** Editors show `patternErrorMessage`, and so does the loader. */
export function text(pattern: string, allowed: string, description: string) {
  return Type.String({ pattern, patternErrorMessage: `must be ${allowed}`, description });
}

export const closed = { additionalProperties: false };
