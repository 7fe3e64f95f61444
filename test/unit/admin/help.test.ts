/** What --help and the completion of shells say of every command. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { findCommand, readArguments } from '../../../src/cli/arguments.ts';
import { ALL_COMMANDS } from '../../../src/cli/commands.ts';
import { completionScript } from '../../../src/cli/completion.ts';
import { helpOf } from '../../../src/cli/help.ts';

/** As a shell splits it. */
function split(line: string): readonly string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}

describe('--help', () => {
  test('has an example of every command, and each can be read as a command line', () => {
    for (const { words, examples } of ALL_COMMANDS) {
      const name = words.join(' ');
      assert.ok(examples.length > 0, name);
      for (const example of examples) {
        const command = findCommand(ALL_COMMANDS, split(example));
        assert.equal(command.words.join(' '), name, example);
        readArguments(command, split(example));
      }
    }
  });

  test('shows one command, or all that begin with the same word', () => {
    const one = helpOf(ALL_COMMANDS, ['accounts', 'move', '--help']);
    assert.match(String(one), /^gateway accounts move ID PARENT \[--json\]\n {4}move an account below/);
    assert.match(String(one), /\n {2}e\.g\. gateway accounts move acct_2 acct_1\n$/);
    assert.match(String(helpOf(ALL_COMMANDS, ['alerts'])), /gateway alerts list[\s\S]*gateway alerts test/);
    assert.match(String(helpOf(ALL_COMMANDS, ['import', 'litellm'])), /^gateway import litellm/);
    assert.equal(helpOf(ALL_COMMANDS, ['--help']), null);
    assert.equal(helpOf(ALL_COMMANDS, ['nonsense']), null);
  });
});

describe('completion', () => {
  test('of bash knows the commands, their flags and the values of a flag', () => {
    const complete = (...words: string[]): readonly string[] => {
      const script = `${completionScript(ALL_COMMANDS, 'bash')}
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gateway; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const { stdout, stderr, status } = spawnSync('bash', ['-c', script, 'bash', 'gateway', ...words], {
        encoding: 'utf8',
      });
      assert.equal(status, 0, stderr);
      return stdout.split('\n').filter((line) => line !== '');
    };
    assert.deepEqual(complete('aler'), ['alerts']);
    assert.deepEqual(complete('alerts', ''), ['list', 'deliveries', 'test', 'receivers']);
    assert.deepEqual(complete('keys', 'create', '--mod'), ['--mode', '--models']);
    assert.deepEqual(complete('keys', 'create', '--mode', ''), ['credit', 'token_budget']);
    assert.deepEqual(complete('keys', 'show', 'key_1', '--'), ['--json']);
    assert.deepEqual(complete('usage', '--b'), ['--by']);
    assert.deepEqual(complete('nonsense', ''), []);
  });

  test('of fish and zsh names every command; another shell is refused', () => {
    const fish = completionScript(ALL_COMMANDS, 'fish');
    for (const { words, flags } of ALL_COMMANDS) {
      assert.ok(fish.includes(` -a ${words.at(-1)}`), words.join(' '));
      for (const flag of Object.keys(flags)) assert.ok(fish.includes(` -l ${flag} `), flag);
    }
    assert.match(
      completionScript(ALL_COMMANDS, 'zsh'),
      /^#compdef gateway\n[\s\S]*complete -o default -F _gateway gateway\n$/,
    );
    assert.throws(
      () => completionScript(ALL_COMMANDS, 'tcsh'),
      /unknown shell "tcsh": expected one of bash, zsh, fish/,
    );
  });
});
