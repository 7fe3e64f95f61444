/** What the schemas of the config file are built of. */
import { Type } from '../lib/schema-builder.ts';

/** `patternErrorMessage` is what editors show; the loader says it too. */
export function text(pattern: string, allowed: string, description: string) {
  return Type.String({ pattern, patternErrorMessage: `must be ${allowed}`, description });
}

export const closed = { additionalProperties: false };
