/**
 * Fields that change what the operator pays, or which model or account answers. They are looked for in every request,
 * whatever format they belong to: a server may know them under another format than their own. What can have a price is
 * returned, and judged by the prices of the model; what cannot is refused by its name.
 */
import { GatewayError } from '../core/conditions.ts';
import { MULTIPLIER_FIELDS, type MultiplierField } from '../core/money.ts';
import { isObject, type Json, type JsonObject, objectAt, stringsAt } from '../lib/json.ts';
import { refuse } from './errors.ts';
import type { ParsedBody } from './json/parse-request.ts';

export interface CostFields {
  readonly multipliers: Readonly<Partial<Record<MultiplierField, string>>>;
  /** Values of `anthropic-beta` that price differently. */
  readonly betas: readonly string[];
}

export const NO_COST_FIELDS: CostFields = { multipliers: {}, betas: [] };

/** The members in which clouds that resell Anthropic's models take what is a header elsewhere. */
const BETA_FIELDS = ['anthropic_beta', 'betas'];
/** Each with the values that change nothing. */
const REFUSED: Readonly<Record<string, (value: Json) => boolean>> = {
  models: isEmptyList,
  fallbacks: isEmptyList,
  plugins: isEmptyList,
  transforms: isEmptyList,
  provider: isEmptyObject,
  providerOptions: isEmptyObject,
  route: (value) => value === '',
  preset: (value) => value === '',
  enable_search: (value) => value === false,
  compound_custom: isEmptyObject,
  access_programs: (value) => isObject(value) && (value.cyber ?? 'standard') === 'standard',
  fallback_credit_token: () => false,
  workspace_id: () => false,
  multi_agent: (value) => isObject(value) && value.enabled === false,
  container: () => false,
  prompt: (value) => !isObject(value),
  cached_content: () => false,
  extra_body: (value) => !isObject(value) || (objectAt(value, 'google')?.cached_content ?? null) === null,
  // Azure reads what they name with the operator's identity, and adds to the input what it finds.
  data_sources: isEmptyList,
  dataSources: isEmptyList,
  enhancements: isEmptyObject,
  search_parameters: (value) => isObject(value) && (isEmptyObject(value) || value.mode === 'off'),
};
/** Everything that is looked for. A request has few members, and each is looked up once. */
const LOOKED_FOR: ReadonlySet<string> = new Set([
  ...Object.keys(REFUSED),
  'thread',
  ...BETA_FIELDS,
  ...MULTIPLIER_FIELDS,
]);

const PRICED_BETAS = /^(fast-mode|context-1m)-/;

/** Throws `GatewayError('invalid_request')` naming the field. `betas`: the header `anthropic-beta`. */
export function readCostFields(request: ParsedBody, betas: string | null): CostFields {
  const { body } = request;
  if (betas === null && !hasAny(body, LOOKED_FOR)) return NO_COST_FIELDS;
  for (const name in REFUSED) refuseUnlessPlain(body, name);
  refuseThread(body);
  for (const name of BETA_FIELDS) refuseBetas(body, name);
  const multipliers: Partial<Record<MultiplierField, string>> = {};
  for (const field of MULTIPLIER_FIELDS) {
    const value = body[field];
    if (value === undefined || value === null) continue;
    if (typeof value !== 'string') refuse(field, `${field} must be a string.`);
    multipliers[field] = value;
  }
  const priced = (betas ?? '')
    .split(',')
    .map((value) => value.trim())
    .filter((value) => PRICED_BETAS.test(value));
  return priced.length === 0 && Object.keys(multipliers).length === 0 ? NO_COST_FIELDS : { multipliers, betas: priced };
}

function hasAny(body: JsonObject, names: ReadonlySet<string>): boolean {
  for (const name in body) if (names.has(name)) return true;
  return false;
}

function refuseUnlessPlain(body: JsonObject, name: string): void {
  const value = body[name];
  if (value === undefined || value === null || REFUSED[name]?.(value)) return;
  refuse(name, `${name} is not accepted here: it can change the price, or the model or account that answers.`);
}

/**
 * The provider would hold the conversation for whoever knows its id, and no bound of the input could be told. The tool runner
 * of @anthropic-ai/sdk asks for it first, and goes on without it where the refusal has these details.
 */
function refuseThread({ thread }: JsonObject): void {
  if (thread === undefined || thread === null) return;
  throw new GatewayError('invalid_request', {
    message: 'thread is not accepted here: send the whole conversation with every request.',
    param: 'thread',
    details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
  });
}

function refuseBetas(body: JsonObject, name: string): void {
  const betas = stringsAt(body, name) ?? [];
  const priced = betas.find((value) => PRICED_BETAS.test(value.trim()));
  if (priced !== undefined)
    refuse(name, `${name}: the beta ${JSON.stringify(priced.slice(0, 100))} is not accepted here.`);
}

function isEmptyList(value: Json): boolean {
  return Array.isArray(value) && value.length === 0;
}

function isEmptyObject(value: Json): boolean {
  return isObject(value) && Object.keys(value).length === 0;
}
