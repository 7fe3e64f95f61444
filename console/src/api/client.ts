/**
 * The admin API as typed calls. Paths, parameters, bodies and answers come from the document that the gateway makes
 * of its routes; nothing of them is written down a second time.
 */
import { connectionLost, connectionWorks } from './connection.ts';
import type { components, paths } from './schema.ts';

export type Schemas = components['schemas'];

type Method = 'get' | 'post' | 'patch' | 'put' | 'delete';
type Json<T> = T extends { content: { 'application/json': infer Body } } ? Body : never;
type Success<Responses> = Json<Responses[keyof Responses & (200 | 201 | 202)]>;
type Answer<Operation> = Operation extends { responses: infer Responses } ? Success<Responses> : never;
type PathsWith<M extends Method> = { [P in keyof paths]: paths[P] extends Record<M, unknown> ? P : never }[keyof paths];
type OperationOf<P extends keyof paths, M extends Method> = M extends keyof paths[P] ? paths[P][M] : never;
type BodyOf<Operation> = Operation extends { requestBody: infer Body } ? { body: Json<Body> } : { body?: undefined };
type PathOf<Operation> = Operation extends { parameters: { path: infer Path } } ? { path: Path } : { path?: undefined };
type QueryOf<Operation> = Operation extends { parameters: { query?: infer Query } }
  ? { query?: Query | undefined }
  : { query?: undefined };
export type CallOf<P extends keyof paths, M extends Method> = BodyOf<OperationOf<P, M>> &
  PathOf<OperationOf<P, M>> &
  QueryOf<OperationOf<P, M>> & {
    signal?: AbortSignal;
    /** The version that is to be changed: where somebody else has changed it since, nothing is done. */
    version?: number;
  };
export type AnswerOf<P extends keyof paths, M extends Method> = Answer<OperationOf<P, M>>;

/** A refusal of the gateway, in its own words. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly field: string | null;
  readonly requestId: string | null;

  constructor(status: number, error: Partial<Schemas['Error']['error']>) {
    super(error.message ?? `the gateway answered with status ${status}`);
    this.name = 'ApiError';
    this.status = status;
    this.code = error.code ?? 'unknown';
    this.field = error.field ?? null;
    this.requestId = error.request_id ?? null;
  }
}

/** Nobody answered: the gateway restarts, or the network is gone. */
export class OfflineError extends Error {
  constructor() {
    super('The gateway does not answer. Nothing was lost: try again when the banner above is gone.');
    this.name = 'OfflineError';
  }
}

let csrfToken: string | null = null;
let onSignedOut: () => void = () => {};

export function keepCsrfToken(token: string | null): void {
  csrfToken = token;
}

/** Told when the gateway no longer knows the session. */
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

export function call<M extends Method, P extends PathsWith<M>>(
  method: M,
  path: P,
  options: CallOf<P, M>,
): Promise<AnswerOf<P, M>> {
  const { body, path: names, query, signal, version } = options as Loose;
  return send(method, addressOf(path, names, query), body, signal, version) as Promise<AnswerOf<P, M>>;
}

interface Loose {
  readonly body?: unknown;
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal;
  readonly version?: number;
}

export function addressOf(
  path: string,
  names: Readonly<Record<string, string>> = {},
  query: Readonly<Record<string, unknown>> = {},
): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(names[name] ?? ''));
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  if (given.length === 0) return filled;
  return `${filled}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

/** Any JSON call of the admin API. A 401 asks the operator to sign in again, and what is on the page stays. */
export async function send(
  method: string,
  address: string,
  body?: unknown,
  signal?: AbortSignal,
  version?: number,
): Promise<unknown> {
  const answer = await reach(address, {
    method: method.toUpperCase(),
    headers: { ...headersFor(method, body), ...(version !== undefined && { 'if-match': `"${version}"` }) },
    body: body === undefined ? null : JSON.stringify(body),
    signal: signal ?? null,
  });
  if (answer.ok) return answer.status === 204 ? null : answer.json();
  throw await refusalOf(answer);
}

/** Of an answer that is none. */
export async function refusalOf(answer: Response): Promise<ApiError> {
  const { error } = (await answer.json().catch(() => ({}))) as Partial<Schemas['Error']>;
  if (answer.status === 401) onSignedOut();
  return new ApiError(answer.status, error ?? {});
}

export function headersFor(method: string, body: unknown): Record<string, string> {
  return {
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(method.toLowerCase() === 'get' || csrfToken === null ? {} : { 'x-csrf-token': csrfToken }),
  };
}

export async function reach(address: string, init: RequestInit): Promise<Response> {
  try {
    const answer = await fetch(address, { ...init, credentials: 'same-origin', cache: 'no-store' });
    connectionWorks();
    return answer;
  } catch (error) {
    if (init.signal?.aborted) throw error;
    connectionLost();
    throw new OfflineError();
  }
}
