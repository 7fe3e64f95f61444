import { field, isObject, type JsonObject } from './json.ts';

/** Schemas nested deeper than this, or that refer to themselves, end in null. */
const DEPTH_MAX = 8;
const ITEMS_MAX = 16;
const LENGTH_MAX = 256;

const BY_STRING_FORMAT: ReadonlyMap<unknown, string> = new Map([
  ['date-time', '2026-01-01T00:00:00Z'],
  ['date', '2026-01-01'],
  ['time', '00:00:00Z'],
  ['email', 'simulated@example.com'],
  ['uri', 'https://example.com/simulated'],
  ['uuid', '00000000-0000-4000-8000-000000000000'],
]);

/** A value for a JSON schema, always the same one: required properties only, filled by their type. */
export function sampleOf(schema: unknown): unknown {
  return sample(schema, schema, 0);
}

function sample(schema: unknown, root: unknown, depth: number): unknown {
  if (!isObject(schema) || depth > DEPTH_MAX) return null;
  if (Object.hasOwn(schema, 'const')) return schema.const;
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0];
  if (Object.hasOwn(schema, 'default')) return schema.default;
  if (typeof schema.$ref === 'string') return sample(resolve(schema.$ref, root), root, depth + 1);
  for (const name of ['anyOf', 'oneOf', 'allOf']) {
    const options = schema[name];
    if (Array.isArray(options) && options.length > 0) return sample(options[0], root, depth + 1);
  }
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case 'string':
      return sampleString(schema);
    case 'integer':
    case 'number':
      return sampleNumber(schema);
    case 'boolean':
      return true;
    case 'array':
      return sampleArray(schema, root, depth);
    case 'object':
      return sampleObject(schema, root, depth);
    default:
      return isObject(schema.properties) ? sampleObject(schema, root, depth) : null;
  }
}

/** The schema at a pointer within the document, such as `#/$defs/place`. */
function resolve(ref: string, root: unknown): unknown {
  if (!ref.startsWith('#')) return undefined;
  let at = root;
  for (const step of ref.split('/').slice(1)) at = field(at, step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return at;
}

function sampleString(schema: JsonObject): string {
  const text = BY_STRING_FORMAT.get(schema.format) ?? 'simulated';
  const min = typeof schema.minLength === 'number' ? Math.min(schema.minLength, LENGTH_MAX) : 0;
  const max = typeof schema.maxLength === 'number' ? Math.max(schema.maxLength, 0) : LENGTH_MAX;
  return text.padEnd(min, '.').slice(0, max);
}

function sampleNumber(schema: JsonObject): number {
  if (typeof schema.minimum === 'number') return schema.minimum;
  if (typeof schema.exclusiveMinimum === 'number') return schema.exclusiveMinimum + 1;
  if (typeof schema.maximum === 'number') return Math.min(1, schema.maximum);
  return 1;
}

function sampleArray(schema: JsonObject, root: unknown, depth: number): unknown[] {
  const count = typeof schema.minItems === 'number' ? Math.min(Math.max(schema.minItems, 0), ITEMS_MAX) : 1;
  return Array.from({ length: isObject(schema.items) ? count : 0 }, () => sample(schema.items, root, depth + 1));
}

function sampleObject(schema: JsonObject, root: unknown, depth: number): JsonObject {
  const names = Array.isArray(schema.required) ? schema.required.filter((name) => typeof name === 'string') : [];
  return Object.fromEntries(names.map((name) => [name, sample(field(schema.properties, name), root, depth + 1)]));
}
