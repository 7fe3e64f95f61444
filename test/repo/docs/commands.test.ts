/** Every `gateway` command that README.md and docs/ print is one, with the operands and flags that it has. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { findCommand, readArguments } from '../../../src/admin/arguments.ts';
import * as commands from '../../../src/admin/commands.ts';
import { DATA_COMMANDS } from '../../../src/admin/data-commands.ts';
import { IMPORTERS } from '../../../src/admin/import/shapes.ts';
import { adminFixture } from '../../support/admin-fixture.ts';

const root = resolve(import.meta.dirname, '../../..');
const { COMMANDS, DOCTOR, LIST_REQUESTS, MODELS, SHOW_REQUEST, START, TOP } = commands;
const PAGES = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)].filter((name) =>
  name.endsWith('.md'),
);

/** Commands in blocks of code, a line each; what a shell would do around them is left out. */
function printed(page: string): string[] {
  const blocks = readFileSync(join(root, page), 'utf8').matchAll(/^```(?:sh|bash|console)?\n(.*?)^```$/gms);
  return [...blocks].flatMap(([, block = '']) =>
    block
      .replaceAll('\\\n', ' ')
      .split('\n')
      .map((line) => /^(?:[A-Z_]+=\S+ +)*npx gateway +(.*)$/.exec(line.trim())?.[1] ?? '')
      .filter((line) => line !== ''),
  );
}

function words(line: string): string[] {
  const bare = line.replace(/\s{2,}.*$|\s+(#|>|\|).*$/, '');
  return [...bare.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain ?? '',
  );
}

describe('commands to paste', () => {
  for (const page of PAGES) {
    const lines = printed(page);
    if (lines.length === 0) continue;
    test(page, () => {
      for (const line of lines) {
        const given = words(line);
        if (['help', '--version'].includes(given[0] ?? '')) continue;
        const all = [
          START,
          DOCTOR,
          MODELS,
          ...DATA_COMMANDS,
          SHOW_REQUEST,
          LIST_REQUESTS,
          TOP,
          ...IMPORTERS,
          ...COMMANDS,
        ];
        assert.doesNotThrow(() => readArguments(findCommand(all, given), given), `${page}: npx gateway ${line}`);
      }
    });
  }

  test('those of docs/statements.md do what the page says', async (t) => {
    const { service } = adminFixture(t);
    const { id } = await service.accounts.create({ name: 'Acme' });
    await service.accounts.addCredit(id, { amount: '5' });
    for (const line of printed('docs/statements.md')) {
      const given = words(line).map((word) => (word === 'ID' ? id : word));
      const command = findCommand(COMMANDS, given);
      const { text } = await command.run(service, readArguments(command, given));
      assert.match(text, /opening.balance/i, line);
    }
  });
});
