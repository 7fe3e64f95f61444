/** Backups are taken from a gateway under load, restored, and served from. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import type { AuditTrailEntryView } from '../../../src/admin/operators/audit-trail-schema.ts';
import { type Ended, runCommand } from '../../support/admin-fixture.ts';
import { call, type StartedGateway, startedGateway, withGateway } from '../../support/started-gateway.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const LAUNCHER = resolve(import.meta.dirname, '../../../bin/gateway.mjs');
const folder = temporaryFolder('gateway-backup-test');

interface Ran {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

async function gateway(words: readonly string[], env: Record<string, string>, input?: Buffer): Promise<Ran> {
  const child = spawn(process.execPath, [LAUNCHER, ...words], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.end(input);
  const [stdout, stderr] = [collected(child.stdout), collected(child.stderr)];
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout: await stdout, stderr: (await stderr).toString() };
}

/** In a process that it shares with others like it: for what is refused, and what stands around that. */
function command(words: readonly string[], env: Record<string, string>): Promise<Ended> {
  return runCommand({ PATH: process.env.PATH ?? '', ...env }, words);
}

async function collected(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const source = await withGateway();
const key = await source.creditKey({ credit: '5' });
const body = { model: 'sandbox/alpha', max_tokens: 20, messages: [{ role: 'user', content: 'Hello!' }] };

async function ask(origin = source.origin): Promise<void> {
  const response = await call(`${origin}/v1/chat/completions`, { key: key.key, body });
  assert.equal(response.status, 200, await response.text());
}

const ann = await source.admin.operators.create({ name: 'ann', role: 'viewer' });
await source.admin.call('createProvider', {
  body: { name: 'house', kind: 'openai', base_url: 'https://house.example/v1', api_key: 'sk-house-0123456789' },
});

/** Requests and changes by operators go on, some at a time, until the work is done. */
async function underLoad<T>(work: () => Promise<T>): Promise<T> {
  let busy = true;
  const clients = Array.from({ length: 4 }, async () => {
    while (busy) await ask();
  });
  clients.push(
    (async () => {
      while (busy) await source.admin.operators.addToken(ann.operator.id, {});
    })(),
  );
  try {
    await ask();
    return await work();
  } finally {
    busy = false;
    await Promise.all(clients);
  }
}

async function signIn(adminPort: number, token: string): Promise<string> {
  const response = await call(`http://127.0.0.1:${adminPort}/admin/v1/session`, { body: { token } });
  assert.equal(response.status, 200, await response.text());
  return response.headers.get('set-cookie')?.split(';')[0] ?? '';
}

async function asOperator(adminPort: number, headers: Record<string, string>): Promise<number> {
  const response = await call(`http://127.0.0.1:${adminPort}/admin/v1/keys`, { headers });
  await response.body?.cancel();
  return response.status;
}

async function wholeTrail(on: StartedGateway): Promise<Map<number, AuditTrailEntryView>> {
  const entries = new Map<number, AuditTrailEntryView>();
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await on.admin.auditTrail(cursor === undefined ? {} : { cursor });
    for (const entry of page.data) entries.set(entry.number, entry);
    cursor = page.next_cursor;
  }
  return entries;
}

const data = { GATEWAY_DATA: source.dataDir };
const into = (name: string) => ({ GATEWAY_DATA: join(folder, name) });
const secretFile = () => readFileSync(join(source.dataDir, 'installation.secret'), 'utf8');

describe('gateway backup and restore', () => {
  test('a backup under load, encrypted to a public key, is restored elsewhere and served from, with its keys', async () => {
    const identity = await generateX25519Identity();
    const recipient = await identityToRecipient(identity);
    const file = join(folder, 'load.db.age');
    const session = await signIn(source.adminPort, ann.token);
    assert.equal(await asOperator(source.adminPort, { cookie: session }), 200);
    const trail = (await source.admin.auditTrail({})).data;
    const failing = await call(`${source.origin}/v1/chat/completions`, { key: key.key, body: { ...body, model: 'x' } });
    assert.equal(failing.status, 404, await failing.text());
    while ((await source.admin.usage({})).total.failed === 0);
    const taken = await underLoad(() => gateway(['backup', file], { ...data, GATEWAY_BACKUP_KEY: recipient }));
    assert.equal(taken.code, 0, taken.stderr);
    assert.match(
      taken.stdout.toString(),
      /load\.db\.age: \d+ bytes, encrypted; OK: every balance equals its entries.*; with operators and the audit trail; without requests\.db\n$/,
    );
    assert.match(readFileSync(file).subarray(0, 21).toString(), /^age-encryption\.org\/v1$/);

    const refused = await gateway(['restore', file], { ...into('sealed'), GATEWAY_BACKUP_KEY: recipient });
    assert.deepEqual([refused.code, existsSync(join(folder, 'sealed', 'gateway.db'))], [1, false]);
    assert.match(refused.stderr, /is encrypted: GATEWAY_BACKUP_KEY must be the identity/);

    const restored = await gateway(['restore', file], { ...into('sealed'), GATEWAY_BACKUP_KEY: identity });
    assert.equal(restored.code, 0, restored.stderr);
    assert.equal(readFileSync(join(folder, 'sealed', 'installation.secret'), 'utf8'), secretFile());
    const copy = await startedGateway({ dataDir: join(folder, 'sealed') });
    try {
      await ask(copy.origin);
      assert.deepEqual((await copy.audit()).findings, []);
      assert.equal(await asOperator(copy.adminPort, { authorization: `Bearer ${ann.token}` }), 200);
      assert.equal(await asOperator(copy.adminPort, { cookie: session }), 401, 'sessions end with a restore');
      const kept = await wholeTrail(copy);
      for (const entry of trail) assert.deepEqual(kept.get(entry.number), entry);
      assert.deepEqual(await copy.admin.call('definitions', {}), await source.admin.call('definitions', {}));
      assert.deepEqual((await copy.admin.usage({})).total.failed_by_condition, { model_not_found: 1 });
    } finally {
      await copy[Symbol.asyncDispose]();
    }
  });

  test('a plain backup has no secret in it, and is restored only beside the right one', async () => {
    const file = join(folder, 'plain.db');
    const taken = await underLoad(() => gateway(['backup', file, '--json'], data));
    assert.equal(taken.code, 0, taken.stderr);
    assert.equal((JSON.parse(taken.stdout.toString()) as { audit: { ok: boolean } }).audit.ok, true);
    assert.equal(readFileSync(file).includes(secretFile().trim()), false);
    assert.equal(readFileSync(file).includes('sk-house-0123456789'), false);

    const without = await gateway(['restore', file], into('plain'));
    assert.match(
      without.stderr,
      /has no installation secret, without which no key works: put installation\.secret into/,
    );
    const wrong = await gateway(['restore', file], { ...into('plain'), GATEWAY_SECRET: 'x'.repeat(40) });
    assert.match(wrong.stderr, /GATEWAY_SECRET is not the secret that the keys in .* were made with/);
    assert.deepEqual([without.code, wrong.code], [1, 1]);
    writeFileSync(join(folder, 'plain', 'installation.secret'), secretFile());
    const restored = await gateway(['restore', file], into('plain'));
    assert.equal(restored.code, 0, restored.stderr);
    const database = new DatabaseSync(join(folder, 'plain', 'gateway.db'));
    assert.equal(database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'backup'").get(), undefined);
    database.close();
    const audit = await gateway(['audit'], into('plain'));
    assert.equal(audit.code, 0, audit.stderr);
  });

  test('through standard output and input, with a passphrase from a file', async () => {
    const passphrase = join(folder, 'passphrase');
    writeFileSync(passphrase, 'correct horse battery staple\n');
    const taken = await gateway(['backup', '-'], { ...data, GATEWAY_BACKUP_KEY_FILE: passphrase });
    assert.equal(taken.code, 0, taken.stderr);
    const restored = await gateway(
      ['restore', '-'],
      { ...into('piped'), GATEWAY_BACKUP_KEY_FILE: passphrase },
      taken.stdout,
    );
    assert.equal(restored.code, 0, restored.stderr);
    const other = { ...into('piped-wrong'), GATEWAY_BACKUP_KEY: 'another passphrase' };
    const wrong = await gateway(['restore', '-'], other, taken.stdout);
    assert.match(wrong.stderr, /cannot be decrypted with this GATEWAY_BACKUP_KEY, or is damaged/);
    const cut = await gateway(
      ['restore', '-'],
      { ...into('piped-cut'), GATEWAY_BACKUP_KEY_FILE: passphrase },
      taken.stdout.subarray(0, -1000),
    );
    assert.match(cut.stderr, /is damaged or cut short/);
    assert.deepEqual(
      readdirSync(join(folder, 'piped-cut')).filter((name) => name.startsWith('gateway.db.rest')),
      [],
    );
  });

  test('refused without harm: a target that exists, a folder that does not, PostgreSQL, no store', async () => {
    const file = join(folder, 'exists');
    writeFileSync(file, 'mine');
    const exists = await command(['backup', file], data);
    assert.match(exists.stderr, /exists already: name another file, or remove it/);
    assert.equal(readFileSync(file, 'utf8'), 'mine');
    const noFolder = await command(['backup', join(folder, 'no', 'where')], data);
    assert.match(noFolder.stderr, /is not a folder: create it first/);
    const shared = await command(['backup', join(folder, 'pg')], { ...data, DATABASE_URL: 'postgres://127.0.0.1:9/x' });
    assert.match(shared.stderr, /is in PostgreSQL \(DATABASE_URL\), which is backed up by its own tools/);
    const empty = await command(['backup', join(folder, 'none')], into('nothing'));
    assert.match(empty.stderr, /gateway\.db does not exist: set GATEWAY_DATA/);
    assert.deepEqual([exists.code, noFolder.code, shared.code, empty.code], [1, 1, 1, 1]);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith('.part')),
      [],
    );
  });

  test('a full target is told, and nothing is left there', {
    skip: existsSync('/dev/full') ? false : 'needs /dev/full',
  }, async () => {
    // The shell bounds the size of files that the command may write, which fails like a full disk.
    const file = join(folder, 'full.db');
    const child = spawn(
      'sh',
      ['-c', 'ulimit -f 16; trap "" XFSZ; exec "$@"', 'sh', process.execPath, LAUNCHER, 'backup', file],
      {
        env: { PATH: process.env.PATH, ...data, NODE_COMPILE_CACHE: join(folder, 'cache') },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const stderr = collected(child.stderr);
    const [code] = (await once(child, 'close')) as [number | null];
    assert.equal(code, 1);
    assert.match(
      (await stderr).toString(),
      /^gateway: (no room for the backup in|the backup could not be read or written).*nothing was left there\n$/,
    );
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.includes('full.db')),
      [],
    );
  });

  test('refused: a restore over a running gateway, over a database, of a damaged file, of a newer release', async () => {
    const file = join(folder, 'base.db');
    assert.equal((await command(['backup', file], data)).code, 0);
    const running = await command(['restore', file, '--replace'], data);
    assert.match(running.stderr, /a gateway is running on .*: stop it first/);
    const ofFolder = await command(['restore', folder], into('of-a-folder'));
    assert.equal(ofFolder.stderr, `gateway: ${folder} is a folder: name the backup, which is one file\n`);

    const there = into('there');
    const secret = { GATEWAY_SECRET: secretFile().trim() };
    assert.equal((await command(['restore', file], { ...there, ...secret })).code, 0);
    const again = await command(['restore', file], { ...there, ...secret });
    assert.match(
      again.stderr,
      /has gateway\.db, operators\.db already: set GATEWAY_DATA to another folder, or give --replace/,
    );
    const operatorsOf = async () =>
      JSON.parse((await command(['operators', 'list', '--json'], { ...there, ...secret })).stdout) as {
        name: string;
      }[];
    assert.deepEqual(
      (await operatorsOf()).map(({ name }) => name),
      ['owner', 'ann'],
    );
    const replaced = await command(['restore', file, '--replace', '--json'], { ...there, ...secret });
    assert.equal(replaced.code, 0, replaced.stderr);
    const { moved_to: movedTo } = JSON.parse(replaced.stdout) as { moved_to: string };
    assert.deepEqual(readdirSync(movedTo).sort(), [
      'gateway.db',
      'gateway.db-rates',
      'operators.db',
      'requests-failures.db',
    ]);

    // A backup of before operators were inside leaves those of the folder.
    const without = join(folder, 'without.db');
    writeFileSync(without, readFileSync(file));
    const older = new DatabaseSync(without);
    older.exec('DROP TABLE backup_parts');
    older.close();
    const kept = await command(['restore', without, '--replace'], { ...there, ...secret });
    assert.match(kept.stdout, /it has no operators; existing ones were kept/);
    assert.equal((await operatorsOf()).length, 2);

    const broken = join(folder, 'broken.db');
    writeFileSync(broken, readFileSync(file));
    const parts = new DatabaseSync(broken);
    parts.exec('UPDATE backup_parts SET bytes = substr(bytes, 1, 8192)');
    parts.close();
    const half = await command(['restore', broken], { ...into('half-operators'), ...secret });
    assert.match(half.stderr, /operators\.db of .*broken\.db is damaged/);
    assert.deepEqual(
      readdirSync(join(folder, 'half-operators')).filter((name) => !name.endsWith('.lock')),
      [],
    );

    const cutFile = join(folder, 'half.db');
    writeFileSync(cutFile, readFileSync(file));
    truncateSync(cutFile, 40_960);
    const cut = await command(['restore', cutFile], { ...into('half'), ...secret });
    assert.ok(cut.stderr.includes(`${cutFile} is damaged`), cut.stderr);
    const noLedger = await command(['restore', LAUNCHER], { ...into('half'), ...secret });
    assert.match(noLedger.stderr, /is damaged or cut short/);

    const database = new DatabaseSync(file);
    database.exec("INSERT INTO migrations (version, name, applied_at) VALUES (9999, 'later', '')");
    database.close();
    const newer = await command(['restore', file], { ...into('newer'), ...secret });
    assert.match(
      newer.stderr,
      /is at schema version 9999, usable from version 9999 on; this release knows up to \d+: start the release that wrote it/,
    );
    assert.deepEqual([running.code, again.code, cut.code, newer.code], [1, 1, 1, 1]);
    assert.equal(existsSync(join(folder, 'newer', 'gateway.db')), false);
  });

  test('a half-copied folder is not taken for an empty one', async () => {
    const half = into('half-folder');
    const file = join(folder, 'again.db');
    assert.equal((await command(['backup', file], data)).code, 0);
    assert.equal((await command(['keys', 'create', '--mode', 'credit'], half)).code, 0);
    rmSync(join(half.GATEWAY_DATA, 'gateway.db'));
    writeFileSync(join(half.GATEWAY_DATA, 'gateway.db-wal'), 'the newest commits');
    const refused = await command(['restore', file], { ...half, GATEWAY_SECRET: secretFile().trim() });
    assert.match(refused.stderr, /has gateway\.db-rates, gateway\.db-wal, operators\.db already/);
  });

  test('--every goes on until it is ended, keeps the newest, and removes nothing else', async () => {
    const many = join(folder, 'many');
    mkdirSync(many);
    writeFileSync(join(many, 'notes.db'), 'mine');
    const child = spawn(process.execPath, [LAUNCHER, 'backup', '--every', '1s', '--keep', '2', many], {
      env: { PATH: process.env.PATH, ...data },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      output += chunk.toString();
      if (!child.killed && /1 older removed\n$/.test(output)) child.kill('SIGTERM');
    }
    // Before it is ended, more backups may be due: each removes one.
    const removed = output
      .trim()
      .split('\n')
      .map((line) => line.endsWith('; 1 older removed'));
    assert.deepEqual(removed.slice(0, 3), [false, false, true], output);
    assert.ok(removed.slice(3).every(Boolean), output);
    const names = readdirSync(many).sort();
    assert.equal(names.length, 3, names.join());
    assert.equal(names.at(-1), 'notes.db');
  });

  test('wrong flags are refused as such', async () => {
    for (const [words, expected] of [
      [['backup', '--every', '5', folder], /--every is "5": must be a time from 1s to 7d, such as 15m or 6h/],
      [['backup', '--every', '15m', '--keep', '0', folder], /--keep is "0": must be a whole number from 1/],
      [['backup', '--keep', '3', folder], /--keep needs --every/],
      [['backup', '--every', '15m', '-'], /--every needs a folder/],
    ] as const) {
      const { code, stderr } = await command(words, data);
      assert.equal(code, 2);
      assert.match(stderr, expected);
    }
    const short = await command(['backup', join(folder, 'short')], { ...data, GATEWAY_BACKUP_KEY: 'short' });
    assert.match(short.stderr, /GATEWAY_BACKUP_KEY is too short: must be an age recipient/);
  });
});
