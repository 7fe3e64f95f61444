/** The examples that README.md, docs/try and docs/connect print to be pasted work against a started gateway. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { type StartedGateway, startedGateway } from '../../support/started-gateway.ts';

const root = resolve(import.meta.dirname, '../../..');
const CLIENTS = readdirSync(join(root, 'docs/connect/clients')).map((file) => `docs/connect/clients/${file}`);
const FIRST_REQUESTS = 'docs/try/first-requests.md';
const PAGES = ['README.md', FIRST_REQUESTS, 'docs/try/sandbox.md', 'docs/connect/clients.md', ...CLIENTS];
const MODELS = ['sandbox/alpha', 'sandbox/beta'];
const run = promisify(execFile);

interface Example {
  readonly page: string;
  readonly text: string;
}

function blocks(language: string): Example[] {
  return PAGES.flatMap((page) => {
    const text = readFileSync(join(root, page), 'utf8');
    const found = text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'));
    return [...found].map((match) => ({ page, text: match[1] ?? '' }));
  });
}

/** One `curl` command with -N, -H and -d only, as the pages print it. */
function request(command: string, values: Readonly<Record<string, string>>): Request {
  const expand = (text: string): string => text.replace(/\$(\w+)/g, (_, name: string) => values[name] ?? '');
  const words = [...command.replaceAll('\\\n', ' ').matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => single ?? expand(double ?? bare ?? ''),
  );
  const headers = new Headers();
  let url = '';
  let body: string | null = null;
  assert.equal(words.shift(), 'curl');
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (word === '-N') continue;
    if (word === '-d') body = words[++at] ?? '';
    else if (word === '-H') {
      const [name = '', ...value] = (words[++at] ?? '').split(': ');
      headers.set(name, value.join(': '));
    } else {
      assert.equal(url, '', `one URL in ${command}`);
      url = word;
    }
  }
  return new Request(url, { method: body === null ? 'GET' : 'POST', headers, body });
}

let gateway: StartedGateway;
let key: string;
before(async () => {
  gateway = await startedGateway();
  key = (await gateway.creditKey()).key;
});
after(async () => {
  assert.deepEqual((await gateway.audit()).findings, []);
  await gateway[Symbol.asyncDispose]();
});

describe('requests to paste', () => {
  const commands = blocks('sh').filter(({ text }) => text.startsWith('curl '));

  test('the first requests have one for every format, whole and streamed', () => {
    for (const path of ['chat/completions', 'responses', 'messages']) {
      const own = commands.filter(({ page, text }) => page === FIRST_REQUESTS && text.includes(`/v1/${path} `));
      assert.deepEqual(
        own.map(({ text }) => text.includes('"stream":true')),
        [false, true],
        path,
      );
    }
  });

  for (const { page, text } of commands) {
    const named = MODELS.find((model) => text.includes(model));
    for (const model of named === undefined ? [null] : MODELS) {
      const command = named === undefined || model === null ? text : text.replace(named, model);
      test(`${page}: ${command.replaceAll(/\\?\n\s*/g, '').slice(0, 60)} ${model ?? ''}`, async () => {
        const response = await fetch(request(command, { GATEWAY: gateway.origin, KEY: key }));
        const body = await response.text();
        assert.equal(response.status, 200, body);
        assert.match(response.headers.get('x-request-id') ?? '', /^req_/);
        if (!text.includes('"stream":true')) return;
        assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
        assert.match(body, /\[DONE\]\n\n$|response\.completed.*\n\n$|message_stop.*\n\n$/);
      });
    }
  }
});

describe('TypeScript to paste', () => {
  for (const { page, text } of blocks('ts')) {
    const packages = [...text.matchAll(/from '([^']+)'/g)].map((match) => match[1]).join(', ');
    test(`${page}: ${packages}`, async () => {
      const { stdout } = await run(process.execPath, ['--input-type=module-typescript', '--eval', text], {
        cwd: root,
        env: { PATH: process.env.PATH, GATEWAY: gateway.origin, KEY: key },
      });
      assert.match(stdout, /Simulated answer/);
    });
  }
});

test('the README shows the answer that its request gets', async () => {
  const [command = ''] = blocks('sh').flatMap(({ page, text }) =>
    page === 'README.md' && text.startsWith('curl ') ? [text] : [],
  );
  const [printed = ''] = blocks('json').flatMap(({ page, text }) => (page === 'README.md' ? [text] : []));
  const answer = await (await fetch(request(command, { GATEWAY: gateway.origin, KEY: key }))).json();
  const own = /"(id|created)":[^,]*/g;
  const flat = (text: string): string =>
    text
      .replaceAll(/\n\s*/g, '')
      .replaceAll(own, '')
      .replace(/, … .*/s, '');
  assert.equal(JSON.stringify(answer).replaceAll(own, '').slice(0, flat(printed).length), flat(printed));
});

test('the README has the two commands, each in a block of its own', () => {
  const own = blocks('sh').filter(({ page }) => page === 'README.md');
  for (const command of ['npm ci && npm start\n', 'npm ci && npm test\n']) {
    assert.equal(own.filter(({ text }) => text === command).length, 1, command);
  }
});
