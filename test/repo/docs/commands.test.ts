/** Every command that a page prints is one: the gateway's own are read by its own grammar, and of all others it is named who runs them. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { type CommandShape, findCommand, readArguments } from '../../../src/cli/arguments.ts';
import * as commands from '../../../src/cli/commands.ts';
import { DATA_COMMANDS } from '../../../src/cli/data-commands.ts';
import { IMPORTERS } from '../../../src/cli/importer-shapes.ts';
import { admitRequest, settleRequest } from '../../contract/fixtures.ts';
import { adminFixture } from '../../support/admin-fixture.ts';
import { alertPolicy } from '../../support/alert-policy.ts';
import { commandsOf, PAGES, shellBlocks } from '../../support/doc-commands.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const root = resolve(import.meta.dirname, '../../..');
/** All that the module of commands exports: a new one needs no line here. */
const SHAPES: readonly CommandShape[] = [
  ...IMPORTERS,
  ...Object.values(commands).flat().filter(isShape),
  ...DATA_COMMANDS,
];

/** Other programs, and where their commands are run or why they are not. */
const PROGRAMS: Readonly<Record<string, string>> = {
  npm: 'test/package/install.ts, CI and whoever runs the tests',
  npx: 'the gateway’s own, below; others are clients, which npm run e2e and npm run agents start',
  curl: 'test/repo/docs/examples.test.ts and test/deploy/tutorials.ts, where nothing has to be filled in',
  claude: 'npm run agents',
  codex: 'npm run agents',
  aider: 'npm run e2e',
  cline: 'npm run e2e',
  cn: 'npm run e2e',
  opencode: 'npm run e2e',
  pi: 'npm run e2e',
  qwen: 'npm run e2e',
  kimi: 'nobody: tried by hand, as its page says',
  bash: 'CI',
  node: 'the test of the script that it names',
  pip: 'npm run e2e, in an environment of its own',
  python: 'npm run e2e',
  'deploy/try': 'by hand, and its parts by npm run test:deploy',
  docker: 'no container engine here: npm run test:deploy checks the files and builds the image’s root file system',
  kubectl: 'no cluster here: npm run test:deploy checks the manifests',
  helm: 'npm run test:deploy renders the chart; there is no cluster to install it in',
  createdb: 'tests bring a PostgreSQL of their own',
  openssl: 'any installation has it',
  pg_dump: 'PostgreSQL’s own',
  grep: 'a search in this repository',
  git: 'a repository of the reader’s',
  ulimit: 'the reader’s shell',
  for: 'test/deploy/tutorials.ts',
  done: 'test/deploy/tutorials.ts',
  cat: 'the reader’s shell',
  cp: 'the reader’s shell',
  echo: 'the reader’s shell',
  jq: 'a program of the reader’s, which test/deploy/tutorials.ts needs too',
  ssh: 'the reader’s own machine',
  apt: 'the reader’s system',
};

/** Their commands need nothing but a store. */
const OPERATOR_PAGES = [
  ...[
    'README.md',
    'docs/run/operations.md',
    'docs/run/accounts.md',
    'docs/run/statements.md',
    'docs/run/usage.md',
    'docs/run/operators.md',
  ],
  ...['docs/run/alerts.md', 'docs/run/import.md'],
];

/** Commands that need more than a store, and are run by tests of their own. */
const ELSEWHERE: ReadonlySet<string> = new Set(['reconcile', 'models refresh', 'models test', 'providers']);

const blocks = shellBlocks();

describe('commands of the pages', () => {
  for (const page of PAGES) {
    const commands = blocks.filter((block) => block.page === page).flatMap(({ text }) => commandsOf(text));
    if (commands.length === 0) continue;
    test(`${page}: ${commands.length} commands`, () => {
      for (const command of commands) {
        const own = /^(?:npx )?(?:gateway|model-gateway) ?(.*)$/.exec(command);
        if (own !== null) requireKnown(own[1] ?? '', command);
        else requireProgram(command);
      }
    });
  }

  test('npm scripts that the pages name are there', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object };
    for (const page of PAGES) {
      const text = readFileSync(join(root, page), 'utf8');
      for (const [, name = ''] of text.matchAll(/\bnpm run ([\w:-]*\w)/g))
        assert.ok(name in scripts, `${page}: npm run ${name}`);
    }
  });

  test('those for operators do on a store what they do in the reader’s hands, page by page', async (t) => {
    const smtp = { host: 'mail.example', port: 587, tls: 'starttls', login: null, from: 'a@example.com' } as const;
    const { service, ledger, clock } = adminFixture(t, {}, { policy: () => alertPolicy({ smtp }) });
    // When the dates of the pages are to come.
    clock.atMs = Date.UTC(2026, 10, 16);
    const root = await service.accounts.create({ name: 'Acme' });
    await service.accounts.addCredit(root.id, { amount: '100' });
    const folder = temporaryFolder();
    let ran = 0;
    for (const page of OPERATOR_PAGES) {
      for (const line of blocks.filter((block) => block.page === page).flatMap(({ text }) => commandsOf(text))) {
        const words = wordsOf(/^npx gateway (.*)$/.exec(line)?.[1] ?? '');
        const command = words.length === 0 ? undefined : commands.COMMANDS.find((one) => one === findShape(words));
        if (command === undefined || ELSEWHERE.has(command.words.join(' '))) continue;
        const team = await service.accounts.create({ name: 'Research', parent: root.id });
        const parent = await service.accounts.create({ name: 'Lab', parent: root.id });
        const own = await service.createKey({ mode: 'credit', credit: '50' });
        await service.addSecret(own.id);
        const channel = { kind: 'slack', address: 'https://chat.example/hook' };
        const receiver = (await service.alerts.addReceiver(team.id, channel)).id;
        const request = `req_${ran}`;
        await ledger.admit(admitRequest(own.id, request, 1_000_000_000n, { keyVersion: 2 }));
        await ledger.settle(settleRequest(own.id, request, 1_000_000_000n));
        const file = join(folder, 'keys.csv');
        writeFileSync(file, 'mode,label\ncredit,one\n');
        // On the page about keys ID is one, elsewhere an account; only a root has a balance to correct.
        const id = page === 'docs/run/operations.md' ? own.id : words[0] === 'correct' ? root.id : team.id;
        const places: Readonly<Record<string, string>> = {
          ...{ ID: id, ROOT: root.id, RESEARCH: team.id, PARENT: parent.id, ACCOUNT_ID: root.id },
          ...{ KEY: own.id, NAME: team.name, REQUEST_ID: request, mg_c_OLDPREF: own.prefix, 'keys.csv': file },
          RECEIVER: receiver,
        };
        const given = words.map((word) => places[word] ?? word);
        // Revoked by a command before.
        if (line.includes('--operator ann')) await service.operators.create({ name: 'ann', role: 'viewer' });
        const { text } = await command.run(service, readArguments(command, given));
        assert.notEqual(text, '', `${page}: ${line}`);
        ran++;
      }
    }
    assert.ok(ran > 50, String(ran));
    assert.equal((await service.audit()).ok, true);
  });

  test('there are enough of them', () => {
    assert.ok(blocks.flatMap(({ text }) => commandsOf(text)).length > 100);
  });
});

function findShape(words: readonly string[]): CommandShape | undefined {
  return SHAPES.find((shape) => shape.words.every((word, index) => words[index] === word));
}

function isShape(value: unknown): value is CommandShape {
  return typeof value === 'object' && value !== null && 'words' in value && 'operands' in value;
}

function wordsOf(rest: string): readonly string[] {
  const words = [...rest.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '');
  const until = words.findIndex((word) => /^[|>]/.test(word));
  return until === -1 ? words : words.slice(0, until);
}

function requireKnown(rest: string, command: string): void {
  const line = wordsOf(rest);
  if (line.length === 0 || line[0] === '--version' || line[0] === 'help') return;
  assert.doesNotThrow(() => readArguments(findCommand(SHAPES, line), line), command);
}

function requireProgram(command: string): void {
  const [program = ''] = command.split(/\s/);
  // The output that a block shows, and JSON and YAML that are no commands.
  if (!/^[a-z][\w/.-]*$/.test(program) || /^[\w.-]+:$/.test(program)) return;
  assert.ok(
    program in PROGRAMS,
    `who runs ${JSON.stringify(command)}? Add it to the test, with the reason where nobody can`,
  );
}
