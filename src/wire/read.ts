/** Reading single members of a parsed body; what has another type counts as absent. */
import { isObject, type Json, type JsonObject } from '../lib/json.ts';

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

/** Parses text that a provider sent; undefined where it is no JSON. */
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
