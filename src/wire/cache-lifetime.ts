/** How long a request asks its prompt to be cached: writes that live longer cost more. */
import { isObject, type Json, type JsonObject } from '../lib/json.ts';
import { refuse } from './errors.ts';

/** `default`: no dearer than any write. `long`: priced as `cache_write_1h`. `unknown`: nobody says what it costs. */
type CacheLifetime = 'default' | 'long' | 'unknown';

export interface AskedLifetime {
  readonly lifetime: 'long' | 'unknown';
  readonly value: Json;
  /** The JSON path of the field that asks for it. */
  readonly param: string;
}

/** Those of Anthropic and of OpenAI, whose defaults are five and thirty minutes. */
const LIFETIMES: ReadonlyMap<Json, CacheLifetime> = new Map([
  ['5m', 'default'],
  ['30m', 'default'],
  ['1h', 'long'],
  ['12h', 'long'],
]);
/** OpenAI takes the same for all of them. */
const RETENTIONS: ReadonlySet<Json> = new Set(['in_memory', 'in-memory', '24h']);

/** Members that hold a `ttl`. */
const HOLDERS: ReadonlySet<string> = new Set(['cache_control', 'caching', 'prompt_cache_breakpoint']);
/** Members that lead to what can be cached. Others hold what the client says or wants, whatever it looks like. */
const INSIDE: ReadonlySet<string> = new Set([
  'content',
  'output',
  'source',
  'tools',
  'function',
  'tool',
  'definition',
  'tool_changes',
]);

/** The longest lifetime that a request of any format asks for; null where none is more than the default. */
export function askedLifetime(body: JsonObject): AskedLifetime | null {
  const { prompt_cache_retention: retention } = body;
  if (retention !== undefined && retention !== null && !RETENTIONS.has(retention)) {
    return { lifetime: 'unknown', value: retention, param: 'prompt_cache_retention' };
  }
  let longest = longer(lifetimeIn(body), lifetimeOf(body.prompt_cache_options, 'prompt_cache_options'));
  for (const name of ['system', 'messages', 'input']) {
    longest = longer(longest, below(lifetimeIn(body[name]), name));
  }
  return longest;
}

/** The depth of a request is bounded, so recursion is safe. The path is only written when something is found. */
function lifetimeIn(value: Json | undefined): AskedLifetime | null {
  if (typeof value !== 'object' || value === null) return null;
  let longest: AskedLifetime | null = null;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      longest = longer(longest, below(lifetimeIn(value[index]), `[${index}]`));
    }
    return longest;
  }
  const object = value as JsonObject;
  for (const name in object) {
    if (HOLDERS.has(name)) longest = longer(longest, lifetimeOf(object[name], name));
    else if (INSIDE.has(name)) longest = longer(longest, below(lifetimeIn(object[name]), name));
  }
  return longest;
}

function lifetimeOf(holder: Json | undefined, name: string): AskedLifetime | null {
  const value = isObject(holder) ? holder.ttl : undefined;
  if (value === undefined || value === null) return null;
  const lifetime = LIFETIMES.get(value) ?? 'unknown';
  return lifetime === 'default' ? null : { lifetime, value, param: `${name}.ttl` };
}

function below(found: AskedLifetime | null, step: string): AskedLifetime | null {
  if (found === null) return null;
  return { ...found, param: found.param.startsWith('[') ? step + found.param : `${step}.${found.param}` };
}

function longer(one: AskedLifetime | null, other: AskedLifetime | null): AskedLifetime | null {
  return one === null || (one.lifetime === 'long' && other?.lifetime === 'unknown') ? other : one;
}

/** The lifetime has no price at the model that is asked. */
export function refuseLifetime({ value, param }: AskedLifetime): never {
  refuse(param, `${param}: cache writes of ${JSON.stringify(value).slice(0, 40)} have no configured price here.`);
}
