/** The schemas that the two families of providers can enforce. */
import { isObject, type Json, type JsonObject, objectAt, objectsAt, stringsAt } from '../../lib/json.ts';

/** Keywords that OpenAI refuses in a strict schema. */
const NEVER_STRICT = [
  'allOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentRequired',
  'dependentSchemas',
  'patternProperties',
] as const;

/**
 * Whether chat and responses targets take the schema with `strict`: every property is required, no object is open, and no
 * keyword is used that they refuse.
 */
export function isStrictSchema(schema: Json | undefined): boolean {
  if (!isObject(schema)) return true;
  if (NEVER_STRICT.some((keyword) => schema[keyword] !== undefined)) return false;
  const properties = objectAt(schema, 'properties');
  if (schema.type === 'object' || properties) {
    const required = new Set(stringsAt(schema, 'required'));
    const names = Object.keys(properties ?? {});
    if (schema.additionalProperties !== false || names.some((name) => !required.has(name))) return false;
  }
  const inner = [
    ...Object.values(properties ?? {}),
    ...Object.values(objectAt(schema, '$defs') ?? {}),
    schema.items,
    ...objectsAt(schema, 'anyOf'),
  ];
  return inner.every(isStrictSchema);
}

/** The string formats that messages targets enforce. */
const FORMATS = new Set('date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' '));

/** Keywords that messages targets take as they are. */
const KEPT = new Set(['$defs', '$ref', 'const', 'definitions', 'description', 'enum', 'title', 'type']);

/**
 * The schema as messages targets enforce it. They close every object and know few keywords; each of the others is a 400
 * there, so what it says is told to the model in the description instead, as Anthropic's own SDKs do. `moved` collects the
 * keywords.
 */
export function enforcedSchema(schema: Json, moved: Set<string>): Json {
  if (!isObject(schema)) return schema;
  const { description: said, ...keywords } = schema;
  const out: Record<string, Json> = {};
  const told: Record<string, Json> = {};
  for (const [keyword, value = null] of Object.entries(keywords)) {
    if (keyword === '$schema' || keyword === '$id' || keyword === '$comment') continue;
    const isSecond = keyword === 'oneOf' && schema.anyOf !== undefined;
    const kept = isSecond ? undefined : enforced(keyword, value, moved);
    if (kept === undefined) told[keyword] = value;
    else out[keyword === 'oneOf' ? 'anyOf' : keyword] = kept;
  }
  if (isObjectSchema(schema)) {
    delete told.additionalProperties;
    if (isOpen(schema.additionalProperties)) told.additionalProperties = schema.additionalProperties ?? true;
    out.type ??= 'object';
    out.additionalProperties = false;
  }
  const names = Object.keys(told);
  for (const name of names) moved.add(name);
  const rule = names.map((name) => `${name}: ${JSON.stringify(told[name])}`).join(', ');
  const texts = [...(typeof said === 'string' ? [said] : []), ...(rule === '' ? [] : [`{${rule}}`])];
  return texts.length === 0 ? out : { ...out, description: texts.join('\n\n') };
}

function isObjectSchema(schema: JsonObject): boolean {
  return (
    schema.type === 'object' ||
    (Array.isArray(schema.type) && schema.type.includes('object')) ||
    isObject(schema.properties)
  );
}

/** An object that takes members of any name: only the description can say so. */
function isOpen(additional: Json | undefined): boolean {
  return additional === true || isObject(additional);
}

/** The keyword's value as a messages target takes it; undefined where it does not. */
function enforced(keyword: string, value: Json, moved: Set<string>): Json | undefined {
  const each = (inner: Json): Json => enforcedSchema(inner, moved);
  switch (keyword) {
    case 'properties':
    case '$defs':
    case 'definitions':
      if (!isObject(value)) return value;
      return Object.fromEntries(Object.entries(value).map(([name, inner = null]) => [name, each(inner)]));
    case 'items':
      return each(value);
    case 'anyOf':
    case 'allOf':
    case 'oneOf':
      return Array.isArray(value) ? value.map(each) : value;
    case 'required':
      return value;
    case 'format':
      return typeof value === 'string' && FORMATS.has(value) ? value : undefined;
    case 'minItems':
      return value === 0 || value === 1 ? value : undefined;
  }
  return KEPT.has(keyword) ? value : undefined;
}
