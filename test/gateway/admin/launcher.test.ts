import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const LAUNCHER = readFileSync(new URL('../../../bin/gateway.mjs', import.meta.url), 'utf8');

/** The launcher as an old Node sees it: no release is new enough, and the bundled runtime is the given script. */
function launch(t: TestContext, runtimeScript: string | null, ...line: readonly string[]) {
  const folder = temporaryFolder();
  const launcher = join(folder, 'bin', 'gateway.mjs');
  const runtime = join(folder, 'node_modules', '.bin', 'node');
  for (const file of [launcher, runtime]) mkdirSync(dirname(file), { recursive: true });
  writeFileSync(launcher, LAUNCHER.replace('NODE_MAJOR_MIN = 24', 'NODE_MAJOR_MIN = 999'));
  if (runtimeScript !== null) {
    writeFileSync(runtime, `#!${runtimeScript}`);
    chmodSync(runtime, 0o755);
  }
  const child = spawn(process.execPath, [launcher, ...line], { stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += chunk;
  return text;
}

describe('the launcher', () => {
  test('ends with the shell that npx runs it in, by the signal that lets a gateway drain', async () => {
    const folder = temporaryFolder();
    const launcher = join(folder, 'bin', 'gateway.mjs');
    const command = join(folder, 'src', 'cli.ts');
    for (const file of [launcher, command]) mkdirSync(dirname(file), { recursive: true });
    writeFileSync(launcher, LAUNCHER);
    const drains = "process.on('SIGTERM', () => { console.log('drained'); process.exit(0); })";
    writeFileSync(
      command,
      `export const main = async () => { ${drains}; setInterval(() => {}, 1000); console.log('ready'); };`,
    );
    const line = `'${process.execPath}' '${launcher}' start & wait`;
    const env = { ...process.env, npm_command: 'exec' };
    const shell = spawn('/bin/sh', ['-c', line], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    await once(shell.stdout, 'data');
    const rest = textOf(shell.stdout);
    shell.kill('SIGTERM');
    assert.match(await rest, /drained/);
  });
});

describe('a start runs with what V8 and malloc take at the start of a process only', () => {
  const said = 'console.log(JSON.stringify([process.pid, process.execArgv, process.env.MALLOC_ARENA_MAX ?? null]))';

  async function started(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const folder = temporaryFolder();
    const launcher = join(folder, 'bin', 'gateway.mjs');
    const command = join(folder, 'src', 'cli.ts');
    for (const file of [launcher, command]) mkdirSync(dirname(file), { recursive: true });
    writeFileSync(launcher, LAUNCHER);
    writeFileSync(command, `export const main = async () => { ${said}; };`);
    const { MALLOC_ARENA_MAX: _, ...outer } = process.env;
    const child = spawn(process.execPath, [launcher, ...words], {
      env: { ...outer, NODE_OPTIONS: '', ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [pid, flags, arenas] = JSON.parse(await textOf(child.stdout)) as [number, string[], string | null];
    assert.equal(pid, child.pid, 'the process is still the one that was started');
    return { flags, arenas };
  }

  test('a young generation of 8 MB and two pools of memory', async () => {
    assert.deepEqual(await started(['start']), { flags: ['--max-semi-space-size=8'], arenas: '2' });
  });

  test('unless whoever starts it says otherwise', async () => {
    assert.deepEqual(await started(['start'], { MALLOC_ARENA_MAX: '4' }), {
      flags: ['--max-semi-space-size=8'],
      arenas: '4',
    });
    const options = { NODE_OPTIONS: '--max-semi-space-size=16' };
    assert.deepEqual(await started(['start'], options), { flags: [], arenas: null });
  });

  test('a command that ends by itself is not started twice', async () => {
    assert.deepEqual(await started(['keys', 'list']), { flags: [], arenas: null });
  });
});

describe('the launcher on a Node that is too old', () => {
  test('runs the bundled runtime with the same words, and ends with its code', async (t) => {
    const child = launch(t, '/bin/sh\necho "$2 $3 $GATEWAY_RUNTIME_CHOSEN"\nexit 7\n', 'keys', 'list');
    const [text, [code]] = await Promise.all([textOf(child.stdout), once(child, 'close')]);
    assert.deepEqual([text, code], ['keys list 1\n', 7]);
  });

  test('passes signals on and waits for the runtime', async (t) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const runtime = `${process.execPath}\nprocess.on('${signal}', () => process.exit(9));\nsetInterval(() => {}, 1000);\nconsole.log('ready');\n`;
      const child = launch(t, runtime, 'start');
      await once(child.stdout, 'data');
      child.kill(signal);
      assert.deepEqual(await once(child, 'close'), [9, null]);
    }
  });

  test('takes the runtime along when it is killed with kill -9', async () => {
    const folder = temporaryFolder();
    const launcher = join(folder, 'bin', 'gateway.mjs');
    const runtime = join(folder, 'node_modules', '.bin', 'node');
    const command = join(folder, 'src', 'cli.ts');
    for (const file of [launcher, runtime, command]) mkdirSync(dirname(file), { recursive: true });
    // Too old at first, new enough once the runtime was chosen.
    writeFileSync(launcher, LAUNCHER.replace('MIN = 24', 'MIN = process.env.GATEWAY_RUNTIME_CHOSEN ? 24 : 999'));
    writeFileSync(command, "export const main = async () => { setInterval(() => {}, 1000); console.log('ready'); };");
    symlinkSync(process.execPath, runtime);
    const child = spawn(process.execPath, [launcher, 'start'], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    // The runtime has the same standard output: it closes only when both are gone.
    assert.deepEqual(await once(child, 'close'), [null, 'SIGKILL']);
  });

  test('says in one line what to do when there is no runtime', async (t) => {
    const child = launch(t, null, 'start');
    const [text, [code]] = await Promise.all([textOf(child.stderr), once(child, 'close')]);
    assert.equal(code, 1);
    assert.match(text, /^gateway needs Node 999 or newer .*npm ci.*\n$/);
  });
});
