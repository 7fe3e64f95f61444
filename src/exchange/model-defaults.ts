/**
 * The default parameters of a model, put into the body of a request that does not have them, before anything judges it: it is
 * validated, priced and translated as if the client had sent them. The output limit is not part of this: `make-plan.ts` bounds
 * it by what the key and the model allow, and it is always sent.
 */
import type { Format } from '../core/endpoints.ts';
import type { Model, ModelDefaults } from '../core/model.ts';
import { isObject, type Json, type JsonObject } from '../lib/json.ts';
import { type Change, change } from '../wire/json/edit.ts';
import { type ParsedBody, parseBody } from '../wire/json/parse-request.ts';
import { samplingStyle, thinkingStyle } from './reasoning-models.ts';

type Field = Exclude<keyof ModelDefaults, 'max_output_tokens'>;
type Path = Change['path'];

/** Where each format has the field; a format without one is left as it is. */
const PATHS: Readonly<Record<Field, Readonly<Partial<Record<Format, Path>>>>> = {
  temperature: { chat: ['temperature'], responses: ['temperature'], messages: ['temperature'] },
  top_p: { chat: ['top_p'], responses: ['top_p'], messages: ['top_p'] },
  top_k: { messages: ['top_k'] },
  frequency_penalty: { chat: ['frequency_penalty'] },
  presence_penalty: { chat: ['presence_penalty'] },
  seed: { chat: ['seed'] },
  stop: { chat: ['stop'], messages: ['stop_sequences'] },
  reasoning_effort: {
    chat: ['reasoning_effort'],
    responses: ['reasoning', 'effort'],
    messages: ['output_config', 'effort'],
  },
  verbosity: { chat: ['verbosity'], responses: ['text', 'verbosity'] },
  service_tier: { chat: ['service_tier'], responses: ['service_tier'], messages: ['service_tier'] },
};

/** They belong together: a client that says one of them has chosen how tokens are drawn. */
const SAMPLING: readonly Field[] = ['temperature', 'top_p', 'top_k'];
const MESSAGES_TEMPERATURE_MAX = 1;

/** The same object where no default applies. `models`: those that have defaults. */
export function withDefaults(parsed: ParsedBody, format: Format, models: ReadonlyMap<string, Model>): ParsedBody {
  const { body } = parsed;
  const model = typeof body.model === 'string' ? models.get(body.model) : undefined;
  if (model === undefined || model.defaults === null) return parsed;
  const changes: Change[] = [];
  for (const [field, value] of Object.entries(valuesFor(format, model, model.defaults, body)) as [Field, Json][]) {
    const path = PATHS[field][format];
    if (path !== undefined && !isSaid(body, path)) changes.push({ path, json: JSON.stringify(value) });
  }
  if (changes.length === 0) return parsed;
  return { ...parseBody(change(parsed.bytes, changes, parsed.layout)), received: parsed.received };
}

/** The defaults that fit this request, with values that its format knows. */
function valuesFor(
  format: Format,
  model: Model,
  { max_output_tokens: _limit, ...defaults }: ModelDefaults,
  body: JsonObject,
): Readonly<Partial<Record<Field, Json>>> {
  const values: Partial<Record<Field, Json>> = { ...defaults, ...(defaults.stop && { stop: [...defaults.stop] }) };
  const chosen = SAMPLING.some((field) => isSaid(body, PATHS[field][format] ?? [field]));
  if (chosen || (format === 'messages' && !takesSampling(model, body)))
    for (const field of SAMPLING) delete values[field];
  if (format !== 'messages') return values;
  if (defaults.temperature !== undefined && values.temperature !== undefined) {
    values.temperature = Math.min(defaults.temperature, MESSAGES_TEMPERATURE_MAX);
  }
  const effort = effortForMessages(model, defaults.reasoning_effort, body);
  if (effort === null) delete values.reasoning_effort;
  else values.reasoning_effort = effort;
  return values;
}

/** Thinking excludes sampling settings, and some models take none. */
function takesSampling({ targets }: Model, { thinking }: JsonObject): boolean {
  if (isObject(thinking) && thinking.type !== 'disabled') return false;
  return targets.every(({ format, upstreamModel }) => format !== 'messages' || samplingStyle(upstreamModel) !== 'none');
}

/** Null where the format has no word for it, the client has said how to think, or a target knows budgets only. */
function effortForMessages({ targets }: Model, effort: string | undefined, { thinking }: JsonObject): string | null {
  if (effort === undefined || effort === 'none' || isObject(thinking)) return null;
  const known = targets.every(
    ({ format, upstreamModel }) => format !== 'messages' || thinkingStyle(upstreamModel) !== 'budget',
  );
  if (!known) return null;
  return effort === 'minimal' ? 'low' : effort;
}

/** Something else than the object that a path goes through is left for the validation to refuse. */
function isSaid(body: JsonObject, [name, child]: Path): boolean {
  const value = body[name] ?? null;
  if (child === undefined || value === null) return value !== null;
  return !isObject(value) || (value[child] ?? null) !== null;
}
