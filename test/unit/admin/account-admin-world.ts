/** What an account-admin may call, and places in and around its subtree where something is. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { Requests } from '../../../src/admin/requests/requests.ts';
import type { RunningGatewayState } from '../../../src/admin/state/service.ts';
import type { RunningRequest } from '../../../src/core/request-record.ts';
import type { RequestEntry } from '../../../src/observe/request-log/entry.ts';
import type { RequestLogReader } from '../../../src/observe/request-log/store.ts';
import { type AppFixture, appFixture } from '../../support/admin-app.ts';
import { requestEntry } from '../../support/request-entries.ts';

/**
 * Where something lies: below the account of the account-admin, below another one of the same root, below another root,
 * above it, or nowhere.
 */
export const PLACES = ['own', 'sibling', 'other root', 'above', 'lone', 'nowhere'] as const;
export type Place = (typeof PLACES)[number];

/** What exists at one place, made anew for every call. */
export interface Things {
  readonly account: string;
  readonly key: string;
  readonly prefix: string;
  readonly request: string;
  /** One that the account is told by. */
  readonly receiver: string;
}

export interface World extends AppFixture {
  readonly top: string;
  readonly root: string;
  readonly entries: RequestEntry[];
  readonly running: RunningRequest[];
  /** What has failed, by account. */
  readonly failedIn: string[];
  make(place: Place): Promise<Things>;
}

/** How a route is called with something; `list` where it names nothing and answers with what there is. */
type Probe =
  | 'whoever'
  | 'list'
  | ((things: Things, world: World) => { readonly path: string; readonly body?: object } | null);

const onKey =
  (rest: string, body?: object): Probe =>
  ({ key, prefix }) => ({ path: `/keys/${key}${rest.replace(':prefix', prefix)}`, ...(body && { body }) });
const onAccount =
  (rest: string, body?: (world: World, things: Things) => object): Probe =>
  (things, world) => ({ path: `/accounts/${things.account}${rest}`, ...(body && { body: body(world, things) }) });

/** Every route that an account-admin may call. One that is missing here, or is here and not open to it, fails the test. */
export const PROBES: Readonly<Record<string, Probe>> = {
  'GET /admin/v1/health': 'whoever',
  'GET /admin/v1/openapi.json': 'whoever',
  'GET /admin/v1/session': 'whoever',
  'DELETE /admin/v1/session': 'whoever',
  'DELETE /admin/v1/sessions': 'whoever',
  'GET /admin/v1/keys': 'list',
  'GET /admin/v1/accounts': 'list',
  'GET /admin/v1/requests': 'list',
  'GET /admin/v1/requests/running': 'list',
  'GET /admin/v1/usage': ({ key }) => ({ path: `/usage?key=${key}` }),
  // A stream would not end by itself; a wrong filter is refused after everything else. What it carries has a test below.
  'GET /admin/v1/requests/stream': 'whoever',
  'POST /admin/v1/keys': ({ account }) => ({ path: '/keys', body: { mode: 'credit', account } }),
  'GET /admin/v1/keys/:id/promotions': onKey('/promotions'),
  'GET /admin/v1/accounts/:id/promotions': onAccount('/promotions'),
  'GET /admin/v1/keys/:id/statement': onKey('/statement'),
  'GET /admin/v1/accounts/:id/statement': onAccount('/statement'),
  'GET /admin/v1/keys/:id': onKey(''),
  'PATCH /admin/v1/keys/:id': onKey('', { label: 'changed' }),
  'DELETE /admin/v1/keys/:id': onKey(''),
  'POST /admin/v1/keys/:id/secrets': onKey('/secrets', {}),
  'DELETE /admin/v1/keys/:id/requests/running': onKey('/requests/running'),
  'DELETE /admin/v1/keys/:id/secrets/:prefix': onKey('/secrets/:prefix'),
  'POST /admin/v1/accounts': ({ account }) => ({ path: '/accounts', body: { name: 'new', parent: account } }),
  'GET /admin/v1/accounts/:id': onAccount(''),
  'PATCH /admin/v1/accounts/:id': onAccount('', () => ({ name: 'changed' })),
  'POST /admin/v1/accounts/:id/move': onAccount('/move', ({ top }) => ({ parent: top })),
  'POST /admin/v1/accounts/:id/keys': onAccount('/keys', (_world, { key }) => ({ key })),
  'GET /admin/v1/accounts/:id/webhook': onAccount('/webhook'),
  'PUT /admin/v1/accounts/:id/webhook': onAccount('/webhook', () => ({ url: 'https://hook.example' })),
  'DELETE /admin/v1/accounts/:id/webhook': onAccount('/webhook'),
  'GET /admin/v1/accounts/:id/receivers': onAccount('/receivers'),
  'POST /admin/v1/accounts/:id/receivers': onAccount('/receivers', () => ({
    kind: 'slack',
    address: 'https://chat.example/another',
  })),
  'DELETE /admin/v1/accounts/:id/receivers/:receiver': (things) => ({
    path: `/accounts/${things.account}/receivers/${things.receiver}`,
  }),
  'POST /admin/v1/accounts/:id/receivers/:receiver/test': (things) => ({
    path: `/accounts/${things.account}/receivers/${things.receiver}/test`,
  }),
  'GET /admin/v1/requests/:id': ({ request }) => ({ path: `/requests/${request}` }),
  'DELETE /admin/v1/requests/running/:id': ({ request }) => ({ path: `/requests/running/${request}` }),
};

export async function world(t: TestContext): Promise<World> {
  const entries: RequestEntry[] = [];
  const running: RunningRequest[] = [];
  const failedIn: string[] = [];
  const reader: RequestLogReader = {
    find: async (id) => entries.find((entry) => entry.id === id) ?? null,
    list: async ({ keyIds }) => ({
      entries: entries.filter(({ keyId }) => keyIds == null || keyIds.includes(keyId ?? '')),
      next: null,
    }),
    captured: async () => null,
    tail: async (position) => ({ entries: position === null ? [] : entries, position: '1' }),
    forget: async () => ({ removed: 0, next: null }),
    prune: async () => false,
    bytes: async () => 0,
    failures: async ({ by }) => {
      const rows = failedIn.map((id) => ({ group: by.map(() => id), failed: { upstream_error: 1 } }));
      return { rows, total: {}, withoutKey: {} };
    },
    changeFailures: async () => {},
    close: async () => {},
  };
  const gateway: RunningGatewayState = {
    settings: () => [],
    configuration: () => ({ file: 'gateway.yaml', found: true, taken_at: '', refused: [] }),
    inspect: async () => ({ models: [], providers: [], settings: [] }),
    stopRequest: async (id) => running.some((request) => request.id === id),
    doctor: async () => assert.fail('nobody asks'),
    testTarget: async () => assert.fail('nobody asks'),
  };
  const fixture = await appFixture(t, { gateway, requests: new Requests(reader, async () => running) });
  const { accounts } = fixture.service;
  const root = (await accounts.create({ name: 'root' })).id;
  const top = (await accounts.create({ name: 'top', parent: root })).id;
  const parents: Readonly<Record<Exclude<Place, 'nowhere' | 'lone' | 'above'>, string>> = {
    own: top,
    sibling: (await accounts.create({ name: 'sibling', parent: root })).id,
    'other root': (await accounts.create({ name: 'stranger' })).id,
  };
  const place = async (at: Place): Promise<string | null> => {
    if (at === 'lone') return null;
    return at === 'above' ? root : (await accounts.create({ name: 'made', parent: parents[at as 'own'] })).id;
  };
  /** Its only one, so that however many are made there is room for another. */
  const newReceiver = async (account: string): Promise<string> => {
    const { alerts } = fixture.adminService;
    await alerts.removeReceivers(account);
    return (await alerts.addReceiver(account, { kind: 'slack', address: 'https://chat.example/hook' })).id;
  };
  return {
    ...fixture,
    root,
    top,
    entries,
    running,
    failedIn,
    make: async (at) => {
      if (at === 'nowhere') {
        const names = { account: 'acct_none', key: 'key_none', prefix: 'mg_c_none' };
        return { ...names, request: 'req_none', receiver: 'slack_none' };
      }
      const account = await place(at);
      const { id: key, prefix } = await fixture.service.createKey({ mode: 'credit', account });
      await fixture.service.addSecret(key);
      const entry = requestEntry({
        keyId: key,
        providers: ['secret-provider'],
        change: (r) => (r.providerCostNanos = 7n),
      });
      entries.push(entry);
      running.push(runningRequest(entry.id, key));
      const receiver = account === null ? 'slack_none' : await newReceiver(account);
      return { account: account ?? 'acct_none', key, prefix, request: entry.id, receiver };
    },
  };
}

function runningRequest(id: string, key_id: string): RunningRequest {
  const figures = { attempts: 1, age_ms: 5, held: '7', output_bytes: 1 };
  return {
    id,
    key_id,
    key_label: null,
    mode: 'credit',
    model: 'm',
    provider: 'secret-provider',
    streamed: true,
    ...figures,
  };
}
