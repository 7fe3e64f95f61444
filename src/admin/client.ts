/** Calls the operations of the admin API by their names, at a running gateway or in this process. */
import type { RequestOptions } from 'node:http';
import { dirname } from 'node:path';
import type { StoredDefinitions } from '../core/definition.ts';
import { request as httpRequest } from '../lib/node-http.ts';
import { AdminError, type AdminErrorCode } from './error.ts';
import { type ParametersOf, partsOf } from './http/route.ts';
import type { View } from './http/view.ts';
import { PREFIX, ROUTES } from './routes.ts';

type Routes = typeof ROUTES;
export type OperationName = keyof Routes;

export type AnswerOf<Name extends OperationName> = View<Routes[Name]['answer']>;

/** Whoever answers validates: what people type in comes as they typed it. */
export type CallOf<Name extends OperationName> = {
  readonly [Parameter in ParametersOf<Routes[Name]['at']>]: string;
} & {
  readonly query?: object;
  readonly body?: object;
  /** Of what is changed, for `If-Match`. */
  readonly version?: number | undefined;
};

/** The lists that come in pages. */
type PagedName = 'listKeys' | 'listAccounts';
type ItemOf<Name extends PagedName> = AnswerOf<Name>['data'][number];

interface HttpCall {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly signal?: AbortSignal | undefined;
}

interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

/** How a call reaches the admin API. */
export interface AdminTransport {
  /** What messages call the other side. */
  readonly name: string;
  send(call: HttpCall): Promise<HttpAnswer>;
}

/** The running gateway where one answers, otherwise the admin API in this process. */
export interface AdminConnection {
  readonly api: AdminClient;
  readonly isRunning: boolean;
  /** What operators have defined, credentials included, which is why a running gateway hands it to nobody. */
  definitions?(): Promise<StoredDefinitions>;
  close(): Promise<void>;
}

const PER_PAGE = 1_000;

export class AdminClient {
  readonly #transport: AdminTransport;

  constructor(transport: AdminTransport) {
    this.#transport = transport;
  }

  /** Rejects with an `AdminError` where the operation is refused. */
  async call<Name extends OperationName>(
    name: Name,
    given: CallOf<Name>,
    signal?: AbortSignal,
  ): Promise<AnswerOf<Name>> {
    const { method, path } = partsOf(ROUTES[name].at);
    const { query = {}, body, version, ...parameters } = given;
    const filled = path.replaceAll(/:(\w+)/g, (_, parameter: string) => {
      const value = String(Reflect.get(parameters, parameter));
      if (value === '') throw new AdminError('invalid_input', `the ${parameter} must not be empty`);
      return encodeURIComponent(value);
    });
    const search = new URLSearchParams(Object.entries(query).map(([field, value]) => [field, String(value)]));
    const { status, text } = await this.#transport.send({
      method,
      path: `${PREFIX}${filled}${search.size === 0 ? '' : `?${search}`}`,
      headers: {
        ...(version !== undefined && { 'if-match': `"${version}"` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal,
    });
    const value = this.#parsed(text);
    if (status < 300) return value as AnswerOf<Name>;
    const { error } = value as { error: { code: AdminErrorCode; message: string; field: string | null } };
    throw new AdminError(error.code, error.message, { field: error.field });
  }

  /** Page by page, so that a gateway with many of them is not held up. */
  async all<Name extends PagedName>(name: Name, filters: object = {}): Promise<readonly ItemOf<Name>[]> {
    const found: ItemOf<Name>[] = [];
    let cursor: string | null = null;
    do {
      const query: object = { ...filters, limit: PER_PAGE, ...(cursor !== null && { cursor }) };
      const page: AnswerOf<PagedName> = await this.call<PagedName>(name, { query });
      found.push(...(page.data as readonly ItemOf<Name>[]));
      cursor = page.next_cursor;
    } while (cursor !== null);
    return found;
  }

  #parsed(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch (cause) {
      throw new AdminError('unavailable', `the gateway at ${this.#transport.name} gave an answer that is not JSON`, {
        cause,
      });
    }
  }
}

/** Nothing listens on the socket: no gateway is running, or it is not ready yet. Nothing was sent. */
export class NotRunningError extends Error {
  override name = 'NotRunningError';
}

const NOT_LISTENING: readonly string[] = ['ENOENT', 'ECONNREFUSED', 'ENOTSOCK'];

/**
 * The Unix socket of a running gateway. Rejects with `NotRunningError` when nothing listens, and with an `AdminError`
 * when the gateway does not answer.
 */
export function socketTransport(path: string): AdminTransport {
  return {
    name: path,
    send: ({ method, path: url, headers, body, signal }) =>
      new Promise((done, failed) => {
        const options: RequestOptions = { socketPath: path, agent: false, method, path: url, headers };
        const request = httpRequest({ ...options, ...(signal && { signal }) }, (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', (error) => failed(failureAt(path, error)));
          response.on('end', () => {
            done({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') });
          });
        });
        request.on('error', (error) => failed(failureAt(path, error)));
        request.end(body ?? undefined);
      }),
  };
}

function failureAt(path: string, cause: Error & { code?: string }): Error {
  const { code = '', name, message } = cause;
  if (NOT_LISTENING.includes(code)) return new NotRunningError(`no gateway is listening on ${path}`, { cause });
  if (code === 'ABORT_ERR' || name === 'TimeoutError') {
    return new AdminError('unavailable', `the gateway at ${path} does not answer`, { cause });
  }
  if (code === 'ENOTDIR') {
    return new AdminError('unavailable', `${dirname(path)} is no folder: set GATEWAY_DATA to the data folder`, {
      cause,
    });
  }
  if (code === 'EACCES' || code === 'EPERM') {
    return new AdminError('unavailable', `${path} belongs to another user: run this as the gateway's user`, { cause });
  }
  return new AdminError(
    'unavailable',
    `the gateway closed the connection before it answered (${code || message}): check the result before you repeat this`,
    { cause },
  );
}
