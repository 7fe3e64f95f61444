/** A row of the tables of fields. */
import type { JsonObject } from '../../../src/lib/json.ts';

export interface FieldRow {
  readonly field: string;
  /** Laid over the smallest request of the format. */
  readonly probe: JsonObject;
  /** The same without the field, where the field needs company. */
  readonly base?: JsonObject;
  /** Why it is left out where it is, when no warning says so. */
  readonly why?: string;
  /** How the gateway does itself what the target cannot be told. */
  readonly kept?: string;
}

export const user = (content: unknown): JsonObject => ({ messages: [{ role: 'user', content }] }) as JsonObject;
export const item = (...items: unknown[]): JsonObject =>
  ({ input: [{ role: 'user', content: 'Hi' }, ...items] }) as JsonObject;
export const inputPart = (part: unknown): JsonObject =>
  ({ input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }, part] }] }) as JsonObject;
export const part = (value: unknown): JsonObject => user([{ type: 'text', text: 'Hi' }, value]);
export const schema = { type: 'object', properties: {}, required: [], additionalProperties: false };
export const chatTool = { type: 'function', function: { name: 'f', parameters: schema } };
export const responsesTool = { type: 'function', name: 'f', parameters: schema };
export const messagesTool = { name: 'f', input_schema: schema };
export const chatCall = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
export const OPENAI_ONLY = 'it concerns the provider that stores or moderates, not the answer';
export const KEPT = 'the gateway ends the answer there itself';
export const CACHE = 'the target caches by itself and takes no marks';
