/** JSON as it comes out of `JSON.parse`: own properties only, never trusted beyond its shape. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json | undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function stringAt(value: JsonObject, name: string): string | undefined {
  const member = value[name];
  return typeof member === 'string' ? member : undefined;
}

export function objectAt(value: JsonObject, name: string): JsonObject | undefined {
  const member = value[name];
  return isObject(member) ? member : undefined;
}

export function arrayAt(value: JsonObject, name: string): readonly Json[] | undefined {
  const member = value[name];
  return Array.isArray(member) ? member : undefined;
}
