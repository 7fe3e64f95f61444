/**
 * JSON as it comes out of `JSON.parse`: own properties only, never trusted beyond its shape. A member of another type
 * than the one asked for counts as absent.
 */
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

export function numberAt(value: JsonObject, name: string): number | undefined {
  const member = value[name];
  return typeof member === 'number' && Number.isFinite(member) ? member : undefined;
}

export function booleanAt(value: JsonObject, name: string): boolean | undefined {
  const member = value[name];
  return typeof member === 'boolean' ? member : undefined;
}

/** The objects of a list; anything else in it is left out. */
export function objectsAt(value: JsonObject, name: string): readonly JsonObject[] {
  const member = value[name];
  return Array.isArray(member) ? member.filter(isObject) : [];
}

export function stringsAt(value: JsonObject, name: string): readonly string[] | undefined {
  const member = value[name];
  if (!Array.isArray(member)) return undefined;
  return member.filter((item: Json): item is string => typeof item === 'string');
}

/** Undefined where the text is not JSON. */
export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** The object without the members that are undefined, so that two ways of saying nothing compare equal. */
export function compact<const T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T;
}
