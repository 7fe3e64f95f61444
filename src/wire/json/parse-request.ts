/**
 * The client's bytes become an object here, once. What is refused: text that is not UTF-8 JSON with an object at the
 * top, more values than the operator allows, nesting or numbers that no real request has, members named `__proto__`, lone surrogates,
 * and a member that its object has twice, at any depth: servers differ in which of the two they read, so that one could
 * hide what the other asks for.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import { GatewayError } from '../../core/conditions.ts';
import { isObject, type JsonObject, parseJson } from '../../lib/json.ts';
import { hasMoreValues } from '../../lib/json-values.ts';
import { repeatedMember } from './repeated-member.ts';
import { type Layout, type LayoutRefusal, objectLayout } from './scan.ts';

export const DEPTH_MAX = 256;
/** The time to read a number grows with the square of its digits. */
export const SCALAR_BYTES_MAX = 100;
const LONG_NUMBER = `The request body has a number of more than ${SCALAR_BYTES_MAX} characters.`;
const MEMBERS_MAX = 1024;
const LONE_SURROGATE = 'has a lone surrogate, which is not text';
/**
 * A body of up to this size has its values counted while its members are found, which spares it a pass: 75 of 510 µs at 200 KB.
 * A larger one may have millions of them: it is refused before anything else is made of it.
 */
const COUNTED_LATE_BYTES_MAX = 1_048_576;
const LIMITS = { depthMax: DEPTH_MAX, membersMax: MEMBERS_MAX, scalarMax: SCALAR_BYTES_MAX };

export interface ParsedBody {
  readonly bytes: Buffer;
  /** The bytes as the client sent them, where the gateway has changed them since. */
  readonly received: Buffer;
  readonly body: JsonObject;
  /** The places of the body's own members, found while parsing. */
  readonly layout: Layout;
}

/**
 * For a request that will not be sent again: while its answer goes on, often for minutes, its text does not stay in memory. Whoever
 * reads it afterwards fails, instead of taking it for an empty one.
 */
export function releaseBody(parsed: ParsedBody): void {
  Object.assign(parsed, { bytes: null, received: null, body: null, layout: null });
}

/** Throws `GatewayError('invalid_request')`. `valuesMax`: for what a client has sent; the gateway's own changes are few. */
export function parseBody(bytes: Buffer, valuesMax = Number.POSITIVE_INFINITY): ParsedBody {
  if (bytes.length > COUNTED_LATE_BYTES_MAX && hasMoreValues(bytes, valuesMax)) throw tooManyValues(valuesMax);
  const ascii = isAscii(bytes);
  if (!ascii && !isUtf8(bytes)) throw refusal('The request body is not valid UTF-8.');
  const view = bytes.toString('latin1');
  const layout = bodyLayout(view);
  if (layout === 'too deep') throw refusal(`The request body is nested deeper than ${DEPTH_MAX} levels.`);
  if (layout === 'long number') throw refusal(LONG_NUMBER);
  if (layout === 'too many members') throw refusal(`The request body has more than ${MEMBERS_MAX} fields.`);
  if (layout === null) throw notAnObject(view);
  if (layout.valuesInAll > valuesMax) throw tooManyValues(valuesMax);
  const body = parseJson(ascii ? view : bytes.toString());
  if (body === undefined) throw refusal('The request body is not valid JSON.');
  if (!isObject(body)) throw refusal('The request body must be a JSON object.');
  if (membersIn(body) !== layout.membersInAll) throw memberRefusal(view, body);
  return { bytes, received: bytes, body, layout };
}

/** `view`: Latin-1. No further than a body may be nested and have fields. */
export function bodyLayout(view: string): Layout | LayoutRefusal | null {
  return objectLayout(view, 0, LIMITS);
}

/** The scan does not distinguish another JSON value from a broken object; the first character does. */
function notAnObject(view: string): GatewayError {
  const first = view.trimStart().charAt(0);
  if (first !== '' && first !== '{' && '["-0123456789tfn'.includes(first)) {
    return refusal('The request body must be a JSON object.');
  }
  return refusal('The request body is not valid JSON.');
}

/**
 * How many members there are at all depths; NaN where something is wrong with one, which `faultIn` then names. The depth is
 * bounded by now, so recursion is safe.
 */
function membersIn(value: object): number {
  let members = 0;
  if (Array.isArray(value)) {
    for (const item of value) members += membersOf(item);
    return members;
  }
  for (const name in value) {
    members += isFaultyName(name) ? Number.NaN : 1 + membersOf((value as JsonObject)[name]);
  }
  return members;
}

function membersOf(value: unknown): number {
  if (typeof value === 'string') return value.isWellFormed() ? 0 : Number.NaN;
  return typeof value === 'object' && value !== null ? membersIn(value) : 0;
}

function isFaultyName(name: string): boolean {
  return name === '__proto__' || !name.isWellFormed();
}

/** Parsing keeps one member of each name, so that the text has more of them than the object where one is repeated. */
function memberRefusal(view: string, body: JsonObject): GatewayError {
  const repeated = repeatedMember(view);
  const fault = repeated === null ? faultIn(body) : null;
  const path = fault?.path ?? repeated ?? '';
  return refusal(`${path} ${fault?.reason ?? 'is given more than once'}.`, path);
}

interface Fault {
  readonly reason: string;
  path: string;
}

/** The depth is bounded by now, so recursion is safe. The path is only written when something is found. */
function faultIn(value: object): Fault | null {
  return Array.isArray(value) ? faultInArray(value) : faultInObject(value as JsonObject);
}

function faultInObject(value: JsonObject): Fault | null {
  for (const name in value) {
    if (name === '__proto__') return { reason: 'is not allowed as a field', path: name };
    if (!name.isWellFormed()) return { reason: LONE_SURROGATE, path: name.toWellFormed() };
    const member = value[name];
    const fault = typeof member === 'object' && member !== null ? faultIn(member) : faultInScalar(member);
    if (fault !== null) {
      fault.path = fault.path === '' || fault.path.startsWith('[') ? name + fault.path : `${name}.${fault.path}`;
      return fault;
    }
  }
  return null;
}

function faultInArray(value: readonly unknown[]): Fault | null {
  for (let index = 0; index < value.length; index++) {
    const item = value[index];
    const fault = typeof item === 'object' && item !== null ? faultIn(item) : faultInScalar(item);
    if (fault !== null) {
      const dot = fault.path === '' || fault.path.startsWith('[') ? '' : '.';
      fault.path = `[${index}]${dot}${fault.path}`;
      return fault;
    }
  }
  return null;
}

function faultInScalar(value: unknown): Fault | null {
  return typeof value === 'string' && !value.isWellFormed() ? { reason: LONE_SURROGATE, path: '' } : null;
}

function tooManyValues(max: number): GatewayError {
  return refusal(`The request body has more than ${max} JSON values.`);
}

function refusal(message: string, param?: string): GatewayError {
  return new GatewayError('invalid_request', { message, param });
}
