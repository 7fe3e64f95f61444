/** Everything that the admin API can do, an operator can do on the command line and in the console too. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { PREFIX, ROUTES } from '../../../src/admin/routes.ts';
import { ALL_COMMANDS } from '../../../src/cli/commands.ts';

interface Offered {
  /** The words of the command; or why there is none. */
  readonly cli: string | { readonly none: string };
  /** Only where the console does not call the route by its path: how it does instead, or why it does not. */
  readonly console?: { readonly as: string } | { readonly none: string };
}

const OF_BOTH = { as: '/admin/v1/$' + '{of}/{id}/' };
const SAME_AS_ACCOUNT = 'the command takes the id of a key as well as of an account';

const OFFERED: Readonly<Record<keyof typeof ROUTES, Offered>> = {
  createKey: { cli: 'keys create' },
  importKeys: { cli: 'import' },
  listKeys: { cli: 'keys list' },
  showKey: { cli: 'keys show' },
  keyHistory: { cli: 'keys history', console: OF_BOTH },
  changeKey: { cli: 'keys update' },
  revokeKey: { cli: 'keys revoke' },
  addCredit: { cli: 'credit add' },
  addSecret: { cli: 'keys rotate' },
  revokeSecret: { cli: 'keys revoke-secret' },
  createAccount: { cli: 'accounts create' },
  listAccounts: { cli: 'accounts list' },
  showAccount: { cli: 'accounts show' },
  accountHistory: { cli: 'accounts history', console: OF_BOTH },
  changeAccount: { cli: 'accounts update' },
  eraseAccount: { cli: 'accounts erase' },
  moveAccount: { cli: 'accounts move' },
  addAccountCredit: { cli: 'accounts credit' },
  addAccountKey: { cli: 'accounts add-key' },
  listAlerts: { cli: 'alerts list' },
  listDeliveries: { cli: 'alerts deliveries' },
  testAlerts: { cli: 'alerts test' },
  listReceivers: { cli: 'alerts receivers' },
  accountReceivers: { cli: 'accounts receivers' },
  addReceiver: { cli: 'accounts add-receiver' },
  removeReceiver: { cli: 'accounts remove-receiver' },
  testReceiver: { cli: 'accounts test-receiver' },
  showWebhook: { cli: 'accounts webhook' },
  setWebhook: { cli: 'accounts webhook' },
  removeWebhook: { cli: 'accounts webhook' },
  refund: { cli: 'refund' },
  promotions: { cli: 'promotions', console: OF_BOTH },
  statement: { cli: 'statement', console: OF_BOTH },
  correct: { cli: 'correct' },
  keyPromotions: { cli: { none: SAME_AS_ACCOUNT }, console: OF_BOTH },
  keyStatement: { cli: { none: SAME_AS_ACCOUNT }, console: OF_BOTH },
  correctKey: { cli: { none: SAME_AS_ACCOUNT } },
  listRequests: { cli: 'requests list' },
  runningRequests: { cli: 'top' },
  stopRequest: { cli: 'requests stop' },
  stopKey: { cli: 'keys stop' },
  requestContent: { cli: 'requests content' },
  showRequest: { cli: 'requests show' },
  usage: { cli: 'usage' },
  health: { cli: { none: 'every command finds out by itself whether a gateway runs' } },
  audit: { cli: 'audit' },
  lastAudit: { cli: 'audit' },
  modelLists: { cli: 'models', console: { none: 'the page of the models shows what comes of the lists' } },
  refreshModelLists: { cli: 'models refresh' },
  models: { cli: 'models' },
  providers: { cli: 'providers' },
  testTarget: { cli: 'models test' },
  settings: { cli: 'settings' },
  configuration: { cli: 'config status' },
  definitions: { cli: 'definitions' },
  createProvider: { cli: 'providers add' },
  showProvider: { cli: 'providers show' },
  changeProvider: { cli: 'providers update' },
  removeProvider: { cli: 'providers remove' },
  createModel: { cli: 'models add' },
  showModel: { cli: 'models show' },
  changeModel: { cli: 'models update' },
  removeModel: { cli: 'models remove' },
  setPrice: { cli: 'prices set' },
  cancelPrice: { cli: 'prices cancel' },
  doctor: { cli: 'doctor' },
  playground: { cli: { none: 'curl with a key is the playground of a terminal' } },
  sendPlayground: { cli: { none: 'curl with a key is the playground of a terminal' } },
  listOperators: { cli: 'operators list' },
  createOperator: { cli: 'operators create' },
  showOperator: { cli: 'operators show' },
  changeOperator: { cli: 'operators update' },
  revokeOperator: { cli: 'operators revoke' },
  addToken: { cli: 'operators token' },
  revokeToken: { cli: 'operators revoke' },
  makeLink: { cli: 'operators link' },
  auditTrail: { cli: 'audit-trail' },
};

const consoleSource = readSources(resolve(import.meta.dirname, '../../../console/src'));

function readSources(folder: string): string {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const own = files.filter((name) => /\.tsx?$/.test(name) && !/^api[\\/](schema|roles)\.ts$/.test(name));
  return own.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
}

/** Names that stand for a path: `const PATH = '/admin/v1/…';`. */
function namesOf(path: string): readonly string[] {
  const escaped = path.replaceAll(/[{}]/g, '\\$&');
  return [...consoleSource.matchAll(new RegExp(`const (\\w+) = '${escaped}'`, 'g'))].map(([, name = '']) => name);
}

/** Calls of the typed client, which the rest of the source is without. */
const CALL = /call\(\s*'(\w+)',\s*(?:'([^']+)'|(\w+))/g;
const calls = [...consoleSource.matchAll(CALL)].map(([, method = '', path, name]) => ({ method, path, name }));
const otherSource = consoleSource.replaceAll(CALL, '');

function isCalled(method: string, path: string): boolean {
  const names = namesOf(path);
  const typed = calls.some((call) => call.method === method && (call.path === path || names.includes(call.name ?? '')));
  // What is not JSON, or is sent before there is a session, is asked for by its address.
  return typed || otherSource.includes(`('${path}'`);
}

const tasks = readFileSync(resolve(import.meta.dirname, '../../../docs/run/tasks.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) => line.slice(2, -2).split(' | '));

describe('what the admin API can do', () => {
  const words = ALL_COMMANDS.map((command) => command.words.join(' '));
  for (const [name, { at }] of Object.entries(ROUTES)) {
    const { cli, console } = OFFERED[name as keyof typeof ROUTES];
    test(`${at} is a command`, () => {
      if (typeof cli === 'string') assert.ok(words.includes(cli), `no command "gateway ${cli}"`);
      else assert.notEqual(cli.none, '', 'a reason');
    });
    test(`${at} is in docs/run/tasks.md, with its command`, () => {
      const path = at.replaceAll(/:(\w+)/g, '{$1}');
      const row = tasks.find((cells) => cells[2] === `\`${path}\``);
      assert.ok(row !== undefined, `no row with \`${path}\``);
      for (const cell of row) assert.match(cell, /\S/);
      if (typeof cli === 'string') assert.equal(row[1], `\`gateway ${cli}\``);
    });
    test(`${at} is in the console`, () => {
      const [method = '', route = ''] = at.split(' ');
      const path = `${PREFIX}${route.replaceAll(/:(\w+)/g, '{$1}')}`;
      const called = isCalled(method.toLowerCase(), path);
      if (console === undefined) assert.ok(called, `nothing in console/src calls ${method} ${path}`);
      else if ('as' in console) {
        const end = path.slice(path.lastIndexOf('/') + 1);
        assert.ok(consoleSource.includes(`${console.as}${end}`), `nothing in console/src calls ${method} ${path}`);
      } else assert.ok(!called && console.none !== '', 'it is there: leave the reason out');
    });
  }
});
