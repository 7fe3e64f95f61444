import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import type { AnswerOf } from '../../../src/admin/client.ts';
import { operatorsFile, storeFile } from '../../../src/admin/data-folder.ts';
import type { CreatedKey, KeyView } from '../../../src/admin/keys/schema.ts';
import type {
  IssuedTokenView,
  ListedOperatorView,
  OperatorView,
  SignInLinkView,
} from '../../../src/admin/operators/schema.ts';
import { socketPath } from '../../../src/admin/socket.ts';
import type { AuditView } from '../../../src/admin/state/schema.ts';
import { ALL_COMMANDS } from '../../../src/cli/commands.ts';
import { keyDigest } from '../../../src/core/key.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { openSyncStore } from '../../../src/ledger/sqlite/engine.ts';
import { adminProcess, command, commandJson, gateway, gatewayJson } from '../../support/admin-fixture.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

describe('gateway commands without a gateway', () => {
  test('every command of the help is one', async () => {
    const data = temporaryFolder();
    for (const { words } of ALL_COMMANDS) {
      const { code, stderr } = await command(data, ...words, '--no-such-flag');
      assert.match(stderr, new RegExp(`^gateway: ${words.join(' ')}: unknown flag --no-such-flag`));
      assert.equal(code, 2);
    }
  });

  test('limits of keys and of accounts: set, shown, taken back, and refused by the name of their flag', async () => {
    const data = temporaryFolder();
    const flags = [
      '--tpm',
      '9000',
      '--parallel',
      '3',
      '--max-output',
      '500',
      '--models',
      'a,b/*',
      '--addresses',
      '10.0.0.0/8,::1',
    ];
    const set = { tpm_limit: 9_000, parallel_limit: 3, output_limit: 500, models: ['a', 'b/*'] };
    const limits = { ...set, addresses: ['10.0.0.0/8', '::1'] };
    const none = { tpm_limit: null, parallel_limit: null, output_limit: null, models: null, addresses: null };
    const open = [
      '--tpm',
      'none',
      '--parallel',
      'none',
      '--max-output',
      'none',
      '--models',
      'all',
      '--addresses',
      'any',
    ];
    const limitsOf = (view: Record<string, unknown>) =>
      Object.fromEntries(Object.keys(none).map((name) => [name, view[name]]));
    for (const [what, create] of [
      ['keys', ['--mode', 'credit', '--credit', '1']],
      ['accounts', ['Acme']],
    ] as const) {
      const made = await commandJson<Record<string, unknown>>(data, what, 'create', ...create, ...flags);
      assert.deepEqual(limitsOf(made), limits, what);
      const { stdout } = await command(data, what, 'show', String(made.id));
      assert.match(stdout, /limits +9000 tokens per minute, 3 at a time, 500 tokens of output/);
      assert.match(stdout, /addresses +10\.0\.0\.0\/8, ::1/);
      assert.deepEqual(limitsOf(await commandJson(data, what, 'update', String(made.id), ...open)), none, what);
      const { code, stderr } = await command(data, what, 'update', String(made.id), '--addresses', '10.0.0.0/40');
      assert.equal(code, 2);
      assert.match(stderr, /^gateway: --addresses has "10\.0\.0\.0\/40", which is no IPv4 or IPv6 address/);
    }
  });

  test('[R9] a key’s life: created, listed, changed, rotated, credited, revoked, audited; its text is never stored', async () => {
    const data = join(temporaryFolder(), 'deep', 'data');
    const made = await commandJson<CreatedKey>(
      data,
      'keys',
      'create',
      '--mode',
      'credit',
      '--credit',
      '5',
      '--label',
      'l',
      '--rpm',
      '7',
      '--models',
      'a,b',
      '--provider',
      'p',
      '--expires',
      '2090-01-01',
    );
    assert(made.mode === 'credit');
    assert.deepEqual(Object.keys(made).slice(0, 6), ['id', 'key', 'prefix', 'mode', 'base_url', 'origin']);
    assert.deepEqual(
      [
        made.base_url,
        made.origin,
        made.label,
        made.rpm_limit,
        made.models,
        made.provider_scope,
        made.expires_at,
        made.balance,
      ],
      ['http://127.0.0.1:18080/v1', 'http://127.0.0.1:18080', 'l', 7, ['a', 'b'], 'p', '2090-01-01T00:00:00.000Z', 5],
    );
    const { key, ...view } = made;
    assert.deepEqual(await commandJson(data, 'keys', 'list'), [view]);
    assert.deepEqual(await commandJson(data, 'keys', 'show', made.id), view);
    assert.deepEqual(
      await commandJson(data, 'keys', 'update', made.id, '--label', '', '--rpm', 'none', '--models', 'all'),
      { ...view, label: null, rpm_limit: null, models: null, version: 2 },
    );
    const rotated = await commandJson<CreatedKey>(data, 'keys', 'rotate', made.id);
    assert.deepEqual(rotated.prefixes, [rotated.prefix, made.prefix]);
    assert.equal((await commandJson<KeyView>(data, 'keys', 'revoke-secret', made.id, made.prefix)).prefixes.length, 1);
    assert.equal((await commandJson(data, 'credit', 'add', made.id, '0.000000001')).balance, 5.000000001);
    assert.equal((await commandJson(data, 'keys', 'revoke', made.id)).status, 'revoked');
    const report = await commandJson<AuditView>(data, 'audit');
    assert.deepEqual([report.ok, report.keys, report.entries], [true, 1, 2]);
    assert.equal(statSync(data).mode & 0o777, 0o700);
    for (const file of [storeFile(data), join(data, 'installation.secret')])
      assert.equal(statSync(file).mode & 0o777, 0o600);
    const stored = readFileSync(storeFile(data), 'latin1');
    assert(!stored.includes(key) && !stored.includes(rotated.key), 'the store holds no key text');
  });

  test('[R1] [R2] suspend, resume, disable and enable', async () => {
    const data = temporaryFolder();
    const { id } = await commandJson(
      data,
      'keys',
      'create',
      '--mode',
      'token_budget',
      '--budget',
      '10',
      '--period',
      'day',
    );
    for (const [word, status] of [
      ['suspend', 'suspended'],
      ['resume', 'active'],
      ['disable', 'disabled'],
      ['enable', 'active'],
    ] as const) {
      assert.equal((await commandJson(data, 'keys', word, String(id))).status, status);
    }
    const refused = await command(data, 'keys', 'update', String(id), '--budget', 'much');
    assert.equal(refused.code, 2);
    assert.match(
      refused.stderr,
      /^gateway: --budget is "much": must be a whole number of tokens from 0 up, or "unlimited"\n$/,
    );
  });

  test('people get text: the key once, then never again', async () => {
    const data = temporaryFolder();
    const made = await gateway(
      data,
      'keys',
      'create',
      '--mode',
      'token_budget',
      '--budget',
      'unlimited',
      '--label',
      'me',
    );
    const key = /mg_t_\w+/.exec(made.stdout)?.[0] ?? '';
    assert.equal(key.length, 45);
    assert.match(made.stdout, /shown only this once/);
    assert.match(made.stdout, /http:\/\/127\.0\.0\.1:18080\/token\/v1/);
    const list = await gateway(data, 'keys', 'list');
    assert.match(
      list.stdout,
      /^ID +PREFIX +MODE +STATUS +AVAILABLE +LABEL\nkey_\w+ +mg_t_\w{7} +token_budget +active +no limit +me\n$/,
    );
    assert(!list.stdout.includes(key));
    const audit = await gateway(data, 'audit');
    assert.deepEqual([audit.code, audit.stderr], [0, '']);
    assert.match(audit.stdout, /^OK: /);
  });

  test('what is not allowed is said in one line, exit 2', async () => {
    const data = join(temporaryFolder(), 'none');
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [
        ['nope'],
        /unknown command "nope": expected one of start, doctor, .*keys, credit, accounts, .*help, --version$/m,
      ],
      [['keys'], /keys needs a second word: expected one of create, list/],
      [['keys', 'burn'], /unknown command "keys burn": expected one of create, list/],
      [['keys', 'list', '--all'], /unknown flag --all: expected one of --account, .*--search, --json/],
      [['keys', 'show'], /takes 1 \(ID\), not 0/],
      [['keys', 'show', '--', '-h', '--help'], /takes 1 \(ID\), not 2/],
      [['keys', 'create', '--mode'], /--mode needs a value: credit\|token_budget/],
      [['keys', 'create', '--label', '--json'], /--label needs a value/],
      [['keys', 'create', '--mode', 'credit', '--mode', 'credit'], /--mode is given twice/],
      [['audit', '--json=yes'], /--json takes no value/],
      [['credit', 'add', 'ID', '-5'], /unknown flag -5/],
      [['start', '--port', '1'], /start: unknown flag --port: expected one of --workers/],
      [['start', '--workers'], /start: --workers needs a value: N/],
      [['start', '--workers', '0'], /--workers is "0": must be a whole number from 1 to 128/],
      [['start', '--workers=two'], /--workers is "two": must be a whole number from 1 to 128/],
      [['start', '--workers='], /--workers is "": must be a whole number from 1 to 128/],
    ];
    for (const [line, pattern] of cases) {
      const { code, stdout, stderr } = await command(data, ...line);
      assert.deepEqual([code, stdout, stderr.split('\n').length], [2, '', 2], line.join(' '));
      assert.match(stderr, pattern);
    }
    assert.equal(existsSync(data), false);
    const missing = await gateway(data, 'audit');
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /the data folder \S+ does not exist/);
    assert.match((await gateway(data, 'help')).stdout, /gateway credit add ID AMOUNT/);
    assert.match(
      (await gateway(data, '--version')).stdout,
      /^\d+\.\d+\.\d+ \(commit \w+; schema: SQLite \d+, PostgreSQL \d+\)\n$/,
    );
  });

  test('a file in the place of the data folder, a damaged operators.db and an empty id are told as what they are', async () => {
    const data = temporaryFolder();
    const file = join(data, 'a-file');
    writeFileSync(file, '');
    const listed = await command(file, 'keys', 'list');
    assert.deepEqual(
      [listed.code, listed.stderr],
      [1, `gateway: ${file} is no folder: set GATEWAY_DATA to the data folder\n`],
    );
    const created = await command(file, 'keys', 'create', '--mode', 'credit');
    assert.match(created.stderr, /a-file cannot be created: there is a file of this name\n$/);
    const shown = await command(data, 'keys', 'show', '');
    assert.deepEqual([shown.code, shown.stderr], [2, 'gateway: the id must not be empty\n']);
    writeFileSync(operatorsFile(data), 'no database '.repeat(1_000));
    const operators = await command(data, 'operators', 'list');
    assert.equal(operators.code, 1);
    assert.match(
      operators.stderr,
      /^gateway: The database \S+operators\.db is damaged \(file is not a database\): stop the gateway, and restore .*\n$/,
    );
  });

  test('a long list arrives whole through a pipe', async () => {
    const data = temporaryFolder();
    const ledger = createLedger(openSyncStore({ file: storeFile(data) }));
    const secret = 's'.repeat(64);
    const label = 'x'.repeat(200);
    await Promise.all(
      Array.from({ length: 2000 }, (_, number) =>
        ledger.createKey({
          ...{ id: `key_${number}`, mode: 'credit', label, providerScope: 'all', models: null, rpmLimit: null },
          ...{ expiresAtMs: null, budget: null, period: 'none', credit: 1n },
          secret: { digest: keyDigest(secret, String(number)), prefix: `mg_c_${number}` },
        }),
      ),
    );
    await ledger.close();
    // The store without its secret is refused; that is another test's business.
    const refused = await gateway(data, 'keys', 'list', '--json');
    assert.match(refused.stderr, /installation\.secret is missing/);
    writeFileSync(join(data, 'installation.secret'), secret);
    const keys = await gatewayJson<KeyView[]>(data, 'keys', 'list');
    assert.equal(keys.length, 2000);
  });

  test('the audit is not clean, exit 1, when a balance is not what its entries say', async () => {
    const data = temporaryFolder();
    await commandJson(data, 'keys', 'create', '--mode', 'credit', '--credit', '5');
    const database = new DatabaseSync(storeFile(data));
    database.exec('UPDATE accounts SET purchased = purchased + 1');
    database.close();
    const { code, stdout } = await gateway(data, 'audit', '--json');
    const report = JSON.parse(stdout) as AuditView;
    assert.deepEqual([code, report.ok], [1, false]);
    assert(report.findings.length > 0);
    const text = await command(data, 'audit');
    assert.equal(text.code, 1);
    assert.match(text.stdout, /^NOT OK/);
  });
});

describe('gateway commands beside a running gateway', () => {
  test('go through its socket, and see its catalog and origin', async (t) => {
    const data = temporaryFolder();
    const before = await gatewayJson<CreatedKey>(data, 'keys', 'create', '--mode', 'credit', '--credit', '1');
    const running = await adminProcess(t, data);
    const made = await gatewayJson<CreatedKey>(
      data,
      'keys',
      'create',
      '--mode',
      'credit',
      '--credit',
      '2',
      '--provider',
      'sandbox-a',
    );
    assert.equal(made.base_url, 'http://127.0.0.1:9999/v1', 'answered by the running process');
    const refused = await command(data, 'keys', 'create', '--mode', 'credit', '--provider', 'sandbox-z');
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /^gateway: --provider "sandbox-z" is not a provider .*all, sandbox-a, sandbox-b\n$/);
    assert.equal((await commandJson(data, 'credit', 'add', before.id, '1')).balance, 2);
    assert.equal((await command(data, 'keys', 'show', 'key_nope')).code, 1);
    assert.deepEqual(
      (await commandJson<KeyView[]>(data, 'keys', 'list')).map(({ id }) => id),
      [made.id, before.id],
    );
    const found = async (...flags: string[]) =>
      (await commandJson<KeyView[]>(data, 'keys', 'list', ...flags)).map(({ id }) => id);
    assert.deepEqual(await found('--search', made.id), [made.id]);
    assert.deepEqual(await found('--status', 'revoked'), []);
    assert.equal((await command(data, 'keys', 'list', '--status', 'revoked')).stdout, 'No key matches.\n');
    assert.deepEqual(await found('--account', 'acc_nope'), []);
    assert.equal((await command(data, 'accounts', 'list', '--search', 'x')).stdout, 'No account matches.\n');
    const nobody = await command(data, 'accounts', 'list', '--parent', 'acct_nope');
    assert.equal(nobody.code, 1);
    assert.match(nobody.stderr, /account "acct_nope" does not exist/);
    const unknown = await command(data, 'keys', 'list', '--status', 'lost');
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /status.*active, suspended, disabled, expired/);
    assert.equal((await commandJson<AuditView>(data, 'audit')).ok, true);
    await running.end('SIGTERM');
    assert.equal(existsSync(socketPath(data)), false);
    assert.equal((await commandJson<KeyView[]>(data, 'keys', 'list')).length, 2);
    assert.deepEqual(await found('--search', before.id), [before.id], 'and without a gateway');
    assert.equal((await command(data, 'keys', 'list', '--status', 'lost')).stderr, unknown.stderr);
  });

  test('work at once after it was killed with kill -9, and so does its successor', async (t) => {
    const data = temporaryFolder();
    const running = await adminProcess(t, data);
    const made = await gatewayJson<CreatedKey>(data, 'keys', 'create', '--mode', 'credit', '--credit', '2');
    await running.end('SIGKILL');
    assert.equal(existsSync(socketPath(data)), true, 'the dead one left its socket');
    assert.equal((await gatewayJson(data, 'keys', 'show', made.id)).base_url, 'http://127.0.0.1:18080/v1');
    assert.equal((await gateway(data, 'audit')).code, 0);
    await adminProcess(t, data);
    assert.equal((await gatewayJson(data, 'keys', 'show', made.id)).base_url, 'http://127.0.0.1:9999/v1');
  });

  test('a second gateway on the same folder is refused, and the first one keeps its socket', async (t) => {
    const data = temporaryFolder();
    await adminProcess(t, data);
    assert.throws(() => openSyncStore({ file: storeFile(data) }), /is locked/);
    assert.equal((await gatewayJson<KeyView[]>(data, 'keys', 'list')).length, 0);
  });

  test('a store that is held by a process without a socket is said to be in use', async (t) => {
    const data = temporaryFolder();
    const running = await adminProcess(t, data);
    rmSync(socketPath(data));
    const { code, stderr } = await gateway(data, 'keys', 'list');
    assert.equal(code, 1);
    assert.match(stderr, /^gateway: .*gateway\.db is in use by a process that does not answer .*\n$/);
    await running.end('SIGTERM');
  });

  test('a data folder whose path is too long for a socket works the same', async (t) => {
    const data = join(temporaryFolder(), 'x'.repeat(120));
    mkdirSync(data);
    const running = await adminProcess(t, data);
    assert.equal((await gatewayJson(data, 'keys', 'create', '--mode', 'credit')).base_url, 'http://127.0.0.1:9999/v1');
    await running.end('SIGTERM');
    assert.equal(existsSync(socketPath(data)), false);
  });
});

describe('operators by command', () => {
  test('are made, listed, sign in by a link and are revoked; the trail says so, without a secret', async () => {
    const data = temporaryFolder();
    const made = await commandJson<IssuedTokenView>(data, 'operators', 'create', 'ann', '--role', 'viewer');
    const { url } = await commandJson<SignInLinkView>(data, 'operators', 'link', '--operator', 'ann');
    assert.match(url, /^http:\/\/127\.0\.0\.1:8081\/#token=mg_l_[\w-]{43}$/);
    const listed = await commandJson<ListedOperatorView[]>(data, 'operators', 'list');
    assert.deepEqual(
      listed.map(({ name, role, status }) => [name, role, status]),
      [
        ['owner', 'owner', 'active'],
        ['ann', 'viewer', 'active'],
      ],
    );
    assert.equal((await commandJson<OperatorView>(data, 'operators', 'revoke', 'ann')).status, 'revoked');
    const refused = await command(data, 'operators', 'revoke', 'owner');
    assert.deepEqual([refused.code, /the built-in owner cannot be revoked/.test(refused.stderr)], [1, true]);
    const page = await commandJson<AnswerOf<'auditTrail'>>(data, 'audit-trail', '--limit', '10');
    assert.deepEqual(
      page.data.map(({ action, outcome, actor }) => [action, outcome, actor?.name, actor?.via]),
      [
        ['operator.revoke', 'refused', 'owner', 'command'],
        ['operator.revoke', 'done', 'owner', 'command'],
        ['operator.link', 'done', 'owner', 'command'],
        ['operator.create', 'done', 'owner', 'command'],
      ],
    );
    const secrets = [made.token, url.split('=')[1] ?? ''];
    const files = readdirSync(data).map((name) => readFileSync(join(data, name), 'latin1'));
    for (const secret of secrets) assert.ok(!files.some((text) => text.includes(secret)), 'only digests are stored');
  });
});
