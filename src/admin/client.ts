/** The admin API of a running gateway, called over its Unix socket. */
import { request as httpRequest, type RequestOptions } from 'node:http';
import type { RunningRequest } from '../core/request-record.ts';
import {
  type AccountsApi,
  type AccountView,
  type AdminApi,
  AdminError,
  type AdminErrorCode,
  type AlertsApi,
  type AuditTrailPageView,
  type AuditView,
  type CreatedKey,
  type ImportedKeysView,
  type KeyView,
  type LastAuditView,
  type ListedOperatorView,
  type ModelListsRefreshView,
  type ModelListsView,
  type MoneyApi,
  type OperatorsApi,
  type RequestContentView,
  type UsageView,
} from './api.ts';
import type { Page } from './page.ts';

/** Nothing listens on the socket: no gateway is running, or it is not ready yet. Nothing was sent. */
export class NotRunningError extends Error {
  override name = 'NotRunningError';
}

const PER_PAGE = '1000';
const NOT_LISTENING: readonly string[] = ['ENOENT', 'ECONNREFUSED', 'ENOTSOCK'];

interface CallOptions {
  readonly signal?: AbortSignal;
  readonly parameters?: readonly [name: string, value: string][];
  /** Of what is changed, for `If-Match`. */
  readonly version?: number | undefined;
}

export class AdminClient implements AdminApi {
  readonly operators: OperatorsApi = {
    list: async () => {
      const { data } = await this.#call<{ readonly data: readonly ListedOperatorView[] }>('GET', ['operators']);
      return data;
    },
    show: (id) => this.#call('GET', ['operators', id]),
    create: (input) => this.#call('POST', ['operators'], input),
    change: (id, input) => this.#call('PATCH', ['operators', id], input),
    revoke: (id) => this.#call('DELETE', ['operators', id]),
    addToken: (id, input) => this.#call('POST', ['operators', id, 'tokens'], input),
    revokeToken: (id, tokenId) => this.#call('DELETE', ['operators', id, 'tokens', tokenId]),
    link: (id) => this.#call('POST', ['operators', id, 'link']),
  };
  readonly accounts: AccountsApi = {
    create: (input) => this.#call('POST', ['accounts'], input),
    list: (filters = {}) => this.#allPages<AccountView>('accounts', filters),
    show: (id) => this.#call('GET', ['accounts', id]),
    change: (id, input, version) => this.#call('PATCH', ['accounts', id], input, { version }),
    move: (id, input) => this.#call('POST', ['accounts', id, 'move'], input),
    addCredit: (id, input) => this.#call('POST', ['accounts', id, 'credit'], input),
    addKey: (id, input) => this.#call('POST', ['accounts', id, 'keys'], input),
  };
  readonly alerts: AlertsApi = {
    list: (query) => this.#call('GET', ['alerts'], undefined, { parameters: Object.entries(query) }),
    deliveries: (query) =>
      this.#call('GET', ['alerts', 'deliveries'], undefined, { parameters: Object.entries(query) }),
    test: () => this.#call('POST', ['alerts', 'test']),
    webhook: (id) => this.#call('GET', ['accounts', id, 'webhook']),
    setWebhook: (id, input) => this.#call('PUT', ['accounts', id, 'webhook'], input),
    removeWebhook: (id) => this.#call('DELETE', ['accounts', id, 'webhook']),
  };
  readonly money: MoneyApi = {
    refund: (requestId, input) => this.#call('POST', ['requests', requestId, 'refund'], input),
    // Both routes take both: whose id it is, is looked up.
    correct: (payerId, input) => this.#call('POST', ['keys', payerId, 'corrections'], input),
    promotions: (id) => this.#call('GET', ['accounts', id, 'promotions']),
    statement: (id, query) =>
      this.#call('GET', ['accounts', id, 'statement'], undefined, { parameters: Object.entries(query) }),
  };
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Rejects with `NotRunningError` when nothing listens, and with an `AdminError` when the gateway does not answer. */
  health(timeoutMs: number): Promise<{ readonly ok: boolean; readonly pid: number }> {
    return this.#call('GET', ['health'], undefined, { signal: AbortSignal.timeout(timeoutMs) });
  }

  createKey(input: object): Promise<CreatedKey> {
    return this.#call('POST', ['keys'], input);
  }

  importKeys(input: object): Promise<ImportedKeysView> {
    return this.#call('POST', ['keys', 'import'], input);
  }

  listKeys(filters: object = {}): Promise<readonly KeyView[]> {
    return this.#allPages<KeyView>('keys', filters);
  }

  showKey(keyId: string): Promise<KeyView> {
    return this.#call('GET', ['keys', keyId]);
  }

  changeKey(keyId: string, input: object, version?: number): Promise<KeyView> {
    return this.#call('PATCH', ['keys', keyId], input, { version });
  }

  addSecret(keyId: string): Promise<CreatedKey> {
    return this.#call('POST', ['keys', keyId, 'secrets']);
  }

  revokeSecret(keyId: string, prefix: string): Promise<KeyView> {
    return this.#call('DELETE', ['keys', keyId, 'secrets', prefix]);
  }

  addCredit(keyId: string, input: object): Promise<KeyView> {
    return this.#call('POST', ['keys', keyId, 'credit'], input);
  }

  requestContent(requestId: string): Promise<RequestContentView> {
    return this.#call('GET', ['requests', requestId, 'content']);
  }

  audit(): Promise<AuditView> {
    return this.#call('GET', ['audit']);
  }

  lastAudit(): Promise<LastAuditView> {
    return this.#call('GET', ['audit', 'last']);
  }

  usage(input: object): Promise<UsageView> {
    return this.#call('GET', ['usage'], undefined, { parameters: Object.entries(input) });
  }

  modelLists(): Promise<ModelListsView> {
    return this.#call('GET', ['model-lists']);
  }

  refreshModelLists(): Promise<ModelListsRefreshView> {
    return this.#call('POST', ['model-lists']);
  }

  auditTrail(query: object): Promise<AuditTrailPageView> {
    const parameters = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
    return this.#call('GET', ['audit-trail'], undefined, { parameters });
  }

  async runningRequests(): Promise<readonly RunningRequest[]> {
    const { data } = await this.#call<{ readonly data: readonly RunningRequest[] }>('GET', ['requests', 'running']);
    return data;
  }

  /** Page by page, so that a gateway with many of them is not held up. */
  async #allPages<T>(list: string, filters: object): Promise<readonly T[]> {
    const all: T[] = [];
    let cursor: string | null = null;
    do {
      const parameters = Object.entries({ ...filters, limit: PER_PAGE, ...(cursor !== null && { cursor }) });
      const page: Page<T> = await this.#call('GET', [list], undefined, { parameters });
      all.push(...page.data);
      cursor = page.next_cursor;
    } while (cursor !== null);
    return all;
  }

  async #call<T>(
    method: string,
    segments: readonly string[],
    input?: object,
    { signal, parameters = [], version }: CallOptions = {},
  ): Promise<T> {
    const query = parameters.length === 0 ? '' : `?${new URLSearchParams([...parameters])}`;
    const path = `/admin/v1/${segments.map(encodeURIComponent).join('/')}${query}`;
    const { status, text } = await this.#exchange(
      { method, path, ...(signal && { signal }), headers: version === undefined ? {} : { 'if-match': `"${version}"` } },
      input === undefined ? null : JSON.stringify(input),
    );
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw new AdminError('unavailable', `the gateway at ${this.#path} gave an answer that is not JSON`, {
        cause: error,
      });
    }
    if (status < 300) return value as T;
    const { error } = value as { error: { code: AdminErrorCode; message: string; field: string | null } };
    throw new AdminError(error.code, error.message, { field: error.field });
  }

  #exchange(call: RequestOptions, body: string | null): Promise<{ status: number; text: string }> {
    return new Promise((done, failed) => {
      const headers = { ...call.headers, ...(body !== null && { 'content-type': 'application/json' }) };
      const options: RequestOptions = { ...call, socketPath: this.#path, agent: false, headers };
      const request = httpRequest(options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', (error) => failed(this.#failure(error)));
        response.on('end', () => {
          done({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') });
        });
      });
      request.on('error', (error) => failed(this.#failure(error)));
      request.end(body ?? undefined);
    });
  }

  #failure(error: Error & { code?: string }): Error {
    if (NOT_LISTENING.includes(error.code ?? '')) {
      return new NotRunningError(`no gateway is listening on ${this.#path}`, { cause: error });
    }
    if (error.code === 'ABORT_ERR' || error.name === 'TimeoutError') {
      return new AdminError('unavailable', `the gateway at ${this.#path} does not answer`, { cause: error });
    }
    if (error.code === 'EACCES' || error.code === 'EPERM') {
      return new AdminError('unavailable', `${this.#path} belongs to another user: run this as the gateway's user`, {
        cause: error,
      });
    }
    return new AdminError(
      'unavailable',
      `the gateway closed the connection before it answered (${error.code ?? error.message}): check the result before you repeat this`,
      { cause: error },
    );
  }
}
