/** The admin API as an application in this process, and callers of every role. */
import type { TestContext } from 'node:test';
import { type AdminAppOptions, adminApp } from '../../src/admin/http/app.ts';
import type { AdminApp } from '../../src/admin/http/framework.ts';
import type { AdminServiceOptions } from '../../src/admin/service.ts';
import type { Role } from '../../src/operators/port.ts';
import { type AdminFixture, adminFixture } from './admin-fixture.ts';

export const ADMIN_SECRET = 'admin-secret-for-tests-0123456789abcdef';
const AT_ROOT = /^\/(admin|assets|metrics|healthz|readyz)/;
const NO_BODY: Body = { error: { code: '', message: '' } };
export const HOST = '127.0.0.1:8081';

export interface Body {
  readonly [name: string]: unknown;
  readonly error: { readonly code: string; readonly message: string };
}

export interface AppAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | number | undefined>>;
  /** Of JSON; a test says what it expects there. */
  readonly body: Body;
}

export interface AppCall {
  readonly body?: object | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface AppFixture extends AdminFixture {
  readonly app: AdminApp;
  /** With the admin secret, unless a header says otherwise; an empty `authorization` sends none. */
  send(method: string, url: string, call?: AppCall): Promise<AppAnswer>;
  /** The token of a new operator of this role; an account-admin gets a new account where none is given. */
  token(role: Role, accountId?: string): Promise<string>;
}

export async function appFixture(
  t: TestContext,
  options: Partial<AdminServiceOptions & AdminAppOptions> = {},
): Promise<AppFixture> {
  const fixture = adminFixture(t, options);
  const app = await adminApp(fixture.adminService, { secret: ADMIN_SECRET, ...options });
  t.after(() => app.close());
  let made = 0;
  return {
    ...fixture,
    app,
    send: async (method, url, { body, headers = {} } = {}) => {
      const { authorization = `Bearer ${ADMIN_SECRET}`, ...others } = headers;
      const answer = await app.inject({
        method: method as 'GET',
        url: AT_ROOT.test(url) ? url : `/admin/v1${url}`,
        headers: { host: HOST, ...(authorization !== '' && { authorization }), ...others },
        ...(body !== undefined && { payload: body }),
      });
      const isJson = /json/.test(String(answer.headers['content-type'])) && answer.payload !== '';
      return { status: answer.statusCode, headers: answer.headers, body: isJson ? answer.json<Body>() : NO_BODY };
    },
    token: async (role, accountId) => {
      const ownAccount = async () => accountId ?? (await fixture.service.accounts.create({ name: 'of its own' })).id;
      const account = role === 'account-admin' ? { account_id: await ownAccount() } : {};
      const { token } = await fixture.service.operators.create({ name: `${role} ${made++}`, role, ...account });
      return token;
    },
  };
}

/** The session that a token is exchanged for: what a browser would send then. */
export async function signedIn({ send }: AppFixture, token: string): Promise<Record<string, string>> {
  const { headers, body } = await send('POST', '/session', { body: { token }, headers: { authorization: '' } });
  const cookie = String(headers['set-cookie']).split(';')[0] ?? '';
  return { authorization: '', cookie, 'x-csrf-token': String(body.csrf_token) };
}
