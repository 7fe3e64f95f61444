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
    | 'get_response'
    | 'delete_response'
    | 'messages'
    | 'count_tokens'
    | 'usage';
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Relative to the origin. A last segment `{id}` stands for any one segment; that of a model for all that follows. */
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

const GENERATION_STATUSES = [400, 401, 402, 403, 404, 409, 429, 502, 503] as const;

const STORED_RESPONSE_STATUSES = [401, 403, 404, 429, 503] as const;

export const ENDPOINTS = {
  models: {
    name: 'models',
    method: 'GET',
    path: '/v1/models',
    envelope: 'A',
    credentials: ['bearer', 'x-api-key'],
    credentialOptional: true,
    format: null,
    statuses: [401, 429, 503],
    projection: NO_403,
  },
  get_model: {
    name: 'get_model',
    method: 'GET',
    path: '/v1/models/{id}',
    envelope: 'A',
    credentials: ['bearer', 'x-api-key'],
    credentialOptional: true,
    format: null,
    statuses: [401, 404, 429, 503],
    projection: NO_403,
  },
  chat: {
    name: 'chat',
    method: 'POST',
    path: '/v1/chat/completions',
    envelope: 'A',
    credentials: ['bearer'],
    credentialOptional: false,
    format: 'chat',
    statuses: GENERATION_STATUSES,
    projection: NO_504,
  },
  responses: {
    name: 'responses',
    method: 'POST',
    path: '/v1/responses',
    envelope: 'A',
    credentials: ['bearer'],
    credentialOptional: false,
    format: 'responses',
    statuses: GENERATION_STATUSES,
    projection: NO_504,
  },
  get_response: {
    name: 'get_response',
    method: 'GET',
    path: '/v1/responses/{id}',
    envelope: 'A',
    credentials: ['bearer'],
    credentialOptional: false,
    format: null,
    statuses: STORED_RESPONSE_STATUSES,
    projection: {},
  },
  delete_response: {
    name: 'delete_response',
    method: 'DELETE',
    path: '/v1/responses/{id}',
    envelope: 'A',
    credentials: ['bearer'],
    credentialOptional: false,
    format: null,
    statuses: STORED_RESPONSE_STATUSES,
    projection: {},
  },
  messages: {
    name: 'messages',
    method: 'POST',
    path: '/v1/messages',
    envelope: 'B',
    credentials: ['bearer', 'x-api-key'],
    credentialOptional: false,
    format: 'messages',
    statuses: [...GENERATION_STATUSES, 504],
    projection: {},
  },
  count_tokens: {
    name: 'count_tokens',
    method: 'POST',
    path: '/v1/messages/count_tokens',
    envelope: 'B',
    credentials: ['bearer', 'x-api-key'],
    credentialOptional: false,
    format: 'messages',
    statuses: [400, 401, 403, 404, 429, 503],
    projection: {},
  },
  usage: {
    name: 'usage',
    method: 'GET',
    path: '/v1/usage',
    envelope: 'A',
    credentials: ['bearer'],
    credentialOptional: false,
    format: null,
    statuses: [401, 429, 503],
    projection: NO_403,
  },
} as const satisfies Record<string, Endpoint>;

export type EndpointName = keyof typeof ENDPOINTS;

const PARAMETER = '{id}';
const MODEL_STEM = stemOf(ENDPOINTS.get_model);

/** The path of the endpoint that ends in a parameter, for a path that it serves; null for every other path. */
export function parameterisedPath(path: string): string | null {
  if (path.endsWith('/')) return null;
  // Model ids have slashes, which not every client encodes.
  if (path.startsWith(MODEL_STEM)) return ENDPOINTS.get_model.path;
  const pattern = path.slice(0, path.lastIndexOf('/') + 1) + PARAMETER;
  return Object.values(ENDPOINTS).some((row) => row.path === pattern) ? pattern : null;
}

/** The value of the parameter in the path of a request to the endpoint; null where its escapes are not text. */
export function pathParameter(endpoint: Endpoint, path: string): string | null {
  const stem = stemOf(endpoint);
  try {
    return decodeURIComponent(path.slice(path.indexOf(stem) + stem.length));
  } catch {
    return null;
  }
}

function stemOf({ path }: Endpoint): string {
  return path.slice(0, -PARAMETER.length);
}

/** Where the keys of one mode are served: every endpoint below its own path prefix. */
export interface Origin {
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
