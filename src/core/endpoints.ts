/** The route table: one row per operation of the public interface, and the origins that serve every row. */
import type { Condition } from './conditions.ts';
import type { Mode } from './key.ts';

export type Format = 'chat' | 'responses' | 'messages';
/** The envelope family: chat, responses, models and usage answer in A; messages and count_tokens in B. */
export type Envelope = 'A' | 'B';
export type CredentialScheme = 'bearer' | 'x-api-key';

export interface Endpoint {
  readonly name:
    | 'models'
    | 'get_model'
    | 'chat'
    | 'responses'
    | 'input_tokens'
    | 'compact'
    | 'get_response'
    | 'delete_response'
    | 'cancel_response'
    | 'input_items'
    | 'messages'
    | 'count_tokens'
    | 'usage';
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Relative to the origin. A segment `{id}` stands for any one segment; that of a model for all that follows. */
  readonly path: string;
  readonly envelope: Envelope;
  readonly credentials: readonly CredentialScheme[];
  readonly credentialOptional: boolean;
  /** The wire format of the body, for the routes that have one. */
  readonly format: Format | null;
  /** Error statuses that the interface lists for this operation. */
  readonly statuses: readonly number[];
  /** Where this operation lists fewer statuses: the condition that is reported instead. */
  readonly projection: Readonly<Partial<Record<Condition, Condition>>>;
}

/** Statuses that belong to every endpoint. */
export const COMMON_STATUSES: readonly number[] = [405, 413, 426, 500];

/** Routes without a 403 report every refusal of the key itself as a 401; the message still gives the reason. */
const NO_403 = { key_expired: 'invalid_credentials', key_disabled: 'invalid_credentials' } as const;
const NO_504 = { upstream_timeout: 'upstream_error' } as const;
/** Over HTTP a reference that cannot be followed is one of many faults of a body; over a WebSocket clients act on it. */
const REFERENCES = { previous_response_not_found: 'invalid_request' } as const;

const GENERATION_STATUSES = [400, 401, 402, 403, 404, 409, 429, 502, 503] as const;

const STORED_RESPONSE_STATUSES = [401, 403, 404, 429, 503] as const;
const COUNT_STATUSES = [400, ...STORED_RESPONSE_STATUSES] as const;

const READ = {
  method: 'GET',
  envelope: 'A',
  credentials: ['bearer'],
  credentialOptional: false,
  format: null,
} as const;
const CATALOG = {
  ...READ,
  credentials: ['bearer', 'x-api-key'],
  credentialOptional: true,
  projection: NO_403,
} as const;
const STORED_RESPONSE = {
  ...READ,
  path: '/v1/responses/{id}',
  statuses: STORED_RESPONSE_STATUSES,
  projection: {},
} as const;
const GENERATION = {
  ...READ,
  method: 'POST',
  statuses: GENERATION_STATUSES,
  projection: NO_504,
} as const;
const RESPONSES = { ...GENERATION, format: 'responses', projection: { ...NO_504, ...REFERENCES } } as const;
const MESSAGES = {
  ...GENERATION,
  envelope: 'B',
  credentials: ['bearer', 'x-api-key'],
  format: 'messages',
  projection: {},
} as const;

export const ENDPOINTS = {
  models: { ...CATALOG, name: 'models', path: '/v1/models', statuses: [401, 429, 503] },
  get_model: { ...CATALOG, name: 'get_model', path: '/v1/models/{id}', statuses: [401, 404, 429, 503] },
  chat: { ...GENERATION, name: 'chat', path: '/v1/chat/completions', format: 'chat' },
  responses: { ...RESPONSES, name: 'responses', path: '/v1/responses' },
  input_tokens: {
    ...RESPONSES,
    name: 'input_tokens',
    path: '/v1/responses/input_tokens',
    statuses: COUNT_STATUSES,
    projection: REFERENCES,
  },
  compact: { ...RESPONSES, name: 'compact', path: '/v1/responses/compact' },
  get_response: { ...STORED_RESPONSE, name: 'get_response', statuses: COUNT_STATUSES },
  delete_response: { ...STORED_RESPONSE, name: 'delete_response', method: 'DELETE' },
  cancel_response: {
    ...STORED_RESPONSE,
    name: 'cancel_response',
    method: 'POST',
    path: '/v1/responses/{id}/cancel',
    statuses: COUNT_STATUSES,
  },
  input_items: {
    ...STORED_RESPONSE,
    name: 'input_items',
    path: '/v1/responses/{id}/input_items',
    statuses: COUNT_STATUSES,
  },
  messages: { ...MESSAGES, name: 'messages', path: '/v1/messages', statuses: [...GENERATION_STATUSES, 504] },
  count_tokens: {
    ...MESSAGES,
    name: 'count_tokens',
    path: '/v1/messages/count_tokens',
    statuses: COUNT_STATUSES,
  },
  usage: { ...READ, name: 'usage', path: '/v1/usage', statuses: [401, 429, 503], projection: NO_403 },
} as const satisfies Record<string, Endpoint>;

/** A response that is asked for over a WebSocket. */
export const RESPONSES_OVER_WEBSOCKET = { ...ENDPOINTS.responses, projection: NO_504 } as const satisfies Endpoint;

export type EndpointName = keyof typeof ENDPOINTS;

const PARAMETER = '{id}';
const MODEL_STEM = stemOf(ENDPOINTS.get_model);

/** The path of the endpoint with a parameter that serves this path; null for every other path. */
export function parameterisedPath(path: string): string | null {
  if (path.endsWith('/')) return null;
  // Model ids have slashes, which not every client encodes.
  if (path.startsWith(MODEL_STEM)) return ENDPOINTS.get_model.path;
  const last = path.lastIndexOf('/');
  const before = path.lastIndexOf('/', last - 1);
  const patterns = [path.slice(0, last + 1) + PARAMETER];
  if (last - before > 1) patterns.push(path.slice(0, before + 1) + PARAMETER + path.slice(last));
  return patterns.find((pattern) => Object.values(ENDPOINTS).some((row) => row.path === pattern)) ?? null;
}

/** The value of the parameter in the path of a request to the endpoint; null where its escapes are not text. */
export function pathParameter(endpoint: Endpoint, path: string): string | null {
  const stem = stemOf(endpoint);
  const tail = endpoint.path.slice(stem.length + PARAMETER.length);
  try {
    return decodeURIComponent(path.slice(path.indexOf(stem) + stem.length, path.length - tail.length));
  } catch {
    return null;
  }
}

/** Whether the endpoint counts the tokens of a request instead of answering it. */
export function onlyCounts(name: string | null): boolean {
  return name === 'count_tokens' || name === 'input_tokens';
}

function stemOf({ path }: Endpoint): string {
  return path.slice(0, path.indexOf(PARAMETER));
}

/** Where the keys of one mode are served: every endpoint below its own path prefix. */
interface Origin {
  readonly mode: Mode;
  readonly prefix: '' | '/token';
  readonly description: string;
}

export const ORIGINS: readonly Origin[] = [
  { mode: 'credit', prefix: '', description: 'Credit keys' },
  { mode: 'token_budget', prefix: '/token', description: 'Token-budget keys' },
];

/** The base URL for keys of this mode, e.g. `http://127.0.0.1:8080/token`. */
export function originOf(gatewayOrigin: string, mode: Mode): string {
  return gatewayOrigin + (ORIGINS.find((origin) => origin.mode === mode)?.prefix ?? '');
}

/** The path below its origin: `/v1/models` for `/token/v1/models`. */
export function pathBelowOrigin(path: string): string {
  const origin = ORIGINS.find(({ prefix }) => prefix !== '' && path.startsWith(`${prefix}/`));
  return origin === undefined ? path : path.slice(origin.prefix.length);
}
