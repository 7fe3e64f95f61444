import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, test } from 'node:test';

const MAIN = new URL('../../../src/sandbox/main.ts', import.meta.url).pathname;

function run(...args: string[]) {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  return { child, output, ended: once(child, 'close') as Promise<[number | null, string | null]> };
}

describe('npm run sandbox', () => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    test(`prints where it listens, serves, and ends well on ${signal} with a stream open`, async () => {
      const { child, output, ended } = run();
      while (!output.stdout.includes('Ctrl-C')) await once(child.stdout, 'data');
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(output.stdout)?.[0];
      const messages = [{ role: 'user', content: '[[delay=600000]]' }];
      const body = JSON.stringify({ model: 'm', stream: true, messages });
      const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body });
      assert.equal(response.status, 200);
      const broken = assert.rejects(response.text());
      child.kill(signal);
      assert.deepEqual(await ended, [0, null]);
      await broken;
    });
  }

  for (const args of [['--port', 'x'], ['--port', '70000'], ['--port', ''], ['--colour'], ['extra'], ['--host', '']]) {
    test(`says what is wrong with ${args.join(' ')}`, async () => {
      const { output, ended } = run(...args);
      assert.deepEqual(await ended, [2, null]);
      assert.match(output.stderr, /^sandbox: .+\n\nUsage|^sandbox: .+\nUsage/);
      assert.equal(output.stdout, '');
    });
  }

  test('says that the port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    assert.ok(address !== null && typeof address === 'object');
    const { output, ended } = run('--port', String(address.port));
    assert.deepEqual(await ended, [1, null]);
    assert.match(output.stderr, /EADDRINUSE/);
    other.close();
  });
});
