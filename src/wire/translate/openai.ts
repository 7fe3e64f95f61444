/** What chat completions and responses say in the same words. */
import type { Format } from '../../core/endpoints.ts';
import {
  booleanAt,
  compact,
  isObject,
  type Json,
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
} from '../../lib/json.ts';
import type { OutputShape, ToolChoice, ToolRef, TurnSettings } from './turn.ts';

export function readCommonSettings(body: JsonObject): TurnSettings {
  return compact({
    temperature: numberAt(body, 'temperature'),
    topP: numberAt(body, 'top_p'),
    topLogprobs: numberAt(body, 'top_logprobs'),
    parallelToolCalls: booleanAt(body, 'parallel_tool_calls'),
    user: stringAt(body, 'user'),
    safetyIdentifier: stringAt(body, 'safety_identifier'),
    metadata: objectAt(body, 'metadata'),
    serviceTier: stringAt(body, 'service_tier'),
    promptCacheKey: stringAt(body, 'prompt_cache_key'),
    promptCacheRetention: stringAt(body, 'prompt_cache_retention'),
    promptCacheOptions: objectAt(body, 'prompt_cache_options'),
    moderation: objectAt(body, 'moderation'),
    store: booleanAt(body, 'store'),
  });
}

/** `allowedIn`: where a choice among several tools has its mode and tools; undefined where it is none. */
export function readChoice(
  format: Format,
  value: Json | undefined,
  readRef: (value: JsonObject) => ToolRef | undefined,
  allowedIn: (choice: JsonObject) => JsonObject | undefined,
): ToolChoice | null {
  if (value === undefined || value === null) return null;
  if (value === 'auto' || value === 'none' || value === 'required') return { kind: value };
  if (isObject(value)) {
    const tool = readRef(value);
    if (tool) return { kind: 'tool', tool };
    const allowed = allowedIn(value);
    if (allowed) {
      const tools = objectsAt(allowed, 'tools').flatMap((entry) => readRef(entry) ?? []);
      return { kind: 'allowed', mode: allowed.mode === 'required' ? 'required' : 'auto', tools };
    }
  }
  return { kind: 'foreign', format, raw: value };
}

/** `details`: the object that has the schema and its name. */
export function readShape(
  format: JsonObject | undefined,
  details: JsonObject | undefined,
  refuseType: (type: string) => never,
): OutputShape | undefined {
  if (!format) return undefined;
  if (format.type === 'text') return { kind: 'text' };
  if (format.type === 'json_object') return { kind: 'json' };
  if (format.type !== 'json_schema' || !details) return refuseType(String(format.type));
  return compact({
    kind: 'schema',
    schema: details.schema ?? {},
    name: stringAt(details, 'name'),
    description: stringAt(details, 'description'),
    strict: booleanAt(details, 'strict'),
  });
}
