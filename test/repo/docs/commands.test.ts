/** Every command that a page prints is one: the gateway's own are read by its own grammar, and of all others it is named who runs them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { type CommandShape, findCommand, readArguments } from '../../../src/admin/arguments.ts';
import { COMMANDS, DOCTOR, LIST_REQUESTS, MODELS, SHOW_REQUEST, START, TOP } from '../../../src/admin/commands.ts';
import { DATA_COMMANDS } from '../../../src/admin/data-commands.ts';
import { IMPORTERS } from '../../../src/admin/import/shapes.ts';
import { adminFixture } from '../../support/admin-fixture.ts';
import { commandsOf, PAGES, shellBlocks } from '../../support/doc-commands.ts';

const root = resolve(import.meta.dirname, '../../..');
const SHAPES: readonly CommandShape[] = [
  ...IMPORTERS,
  ...COMMANDS,
  START,
  DOCTOR,
  MODELS,
  LIST_REQUESTS,
  SHOW_REQUEST,
  TOP,
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
  qwen: 'npm run e2e',
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
  ssh: 'the reader’s own machine',
  apt: 'the reader’s system',
};

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

  test('those of docs/statements.md do what the page says', async (t) => {
    const { service } = adminFixture(t);
    const { id } = await service.accounts.create({ name: 'Acme' });
    await service.accounts.addCredit(id, { amount: '5' });
    const lines = blocks.filter(({ page }) => page === 'docs/statements.md').flatMap(({ text }) => commandsOf(text));
    assert.ok(lines.length > 0);
    for (const line of lines) {
      const given = wordsOf(line.replace(/^npx gateway /, '')).map((word) => (word === 'ID' ? id : word));
      const command = findCommand(COMMANDS, given);
      const { text } = await command.run(service, readArguments(command, given));
      assert.match(text, /opening.balance/i, line);
    }
  });

  test('there are enough of them', () => {
    assert.ok(blocks.flatMap(({ text }) => commandsOf(text)).length > 100);
  });
});

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
