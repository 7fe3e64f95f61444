/** Secrets and texts that are planted in every place are found in no log. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openLog } from '../../../src/observe/log.ts';
import { requestLogFile } from '../../../src/observe/request-log/sqlite/file.ts';
import { ClientStream, scriptedGateway, secretOf } from '../../support/scripted-gateway.ts';
import { SPEECH } from '../../support/upstreams/spoken.ts';

const PROMPT = 'the vault behind the painting opens with seven turns';
const ANSWER = 'then you whisper marmalade to the brass owl';

test('no credential, no prompt and no answer is in the log of the process or in the request log', async () => {
  let written = '';
  const log = openLog('debug', {
    write: (line) => {
      written += line;
    },
  });
  await using scripted = await scriptedGateway({
    servers: 2,
    log,
    provider: { circuit_breaker: false },
    routing: { max_attempts: 2 },
    settings: { request_log: { client_address: true } },
  });
  const { gateway } = scripted;
  const key = await gateway.creditKey({ label: 'team blue' });
  const secrets = [
    key.key,
    secretOf('one'),
    secretOf('two'),
    readFileSync(join(gateway.dataDir, 'admin.secret'), 'utf8').trim(),
  ];
  const quoting = `Incorrect API key ${secretOf('one')} for ${key.key}: "${PROMPT}" and ${PROMPT} and Bearer ${key.key}`;
  const answers = [
    () => ({ status: 400, body: { error: { message: quoting } } }),
    () => ({ status: 401, body: { error: { message: quoting } } }),
    () => ({ status: 500, body: { error: { message: quoting } } }),
    () => ({ status: 200, body: { error: { message: quoting } } }),
    () => ({ status: 200, body: SPEECH.chat.whole(ANSWER) }),
  ];
  const bodies = [
    SPEECH.chat.request({ messages: [{ role: 'user', content: PROMPT }] }),
    SPEECH.chat.request({ model: key.key, messages: [{ role: 'user', content: PROMPT }] }),
    SPEECH.chat.request({ messages: [{ role: PROMPT, content: PROMPT }] }),
    SPEECH.chat.request({ temperature: PROMPT, messages: [{ role: 'user', content: PROMPT }] }),
    { [PROMPT]: key.key },
  ];
  const ids: string[] = [];
  for (const answer of answers) {
    for (const server of scripted.servers) {
      server.answer = (call) => {
        const { status, body } = answer();
        call.reply(status, body, { 'x-request-id': 'prov-9' });
      };
    }
    for (const body of bodies) {
      const headers = {
        'x-request-id': key.key,
        'user-agent': `agent/${key.key}`,
        'idempotency-key': `${Math.random()}`,
      };
      const client = new ClientStream(key, 'chat', body, headers).read();
      ids.push(String((await client.begun).headers['x-request-id']));
      await client.ended;
    }
  }
  // Nothing is left in a write-ahead log after an orderly end.
  await gateway.stop();
  const stored = readFileSync(requestLogFile(gateway.dataDir), 'latin1');
  for (const id of ids) assert.ok(written.includes(id) && stored.includes(id), 'each request is in both');
  for (const [name, text] of [
    ['the log of the process', written],
    ['the request log', stored],
  ] as const) {
    for (const secret of secrets) assert.equal(text.includes(secret), false, `${name} has ${secret.slice(0, 8)}…`);
    for (const word of ['vault', 'painting', 'marmalade', 'brass owl'])
      assert.equal(text.includes(word), false, `${name}: ${word}`);
  }
  const lines = written.split('\n').filter((line) => line.includes('"requestId"'));
  for (const line of lines) assert.ok((JSON.parse(line) as { keyId?: string }).keyId === key.id, line);
});

test("[F20] no value of a provider's headers is in an answer, the log of the process or the request log", async () => {
  let written = '';
  const log = openLog('debug', {
    write: (line) => {
      written += line;
    },
  });
  const planted = ['tenant-of-acme', 'swordfish', 'marzipan seven'];
  const basic = `Basic ${Buffer.from(`gate:${planted[2]}`).toString('base64')}`;
  const headers = {
    'x-tenant': planted[0],
    'x-auth': planted[1],
    'x-proxy-authorization': basic,
    'x-debug': 'true',
  };
  await using scripted = await scriptedGateway({ log, provider: { circuit_breaker: false, headers } });
  const { gateway, first } = scripted;
  const key = await gateway.creditKey();
  const quoting = `It is true that ${planted.join(', ')} and ${basic} may not`;
  const error = { message: quoting };
  let answers = '';
  for (const status of [200, 400, 401, 404, 500]) {
    for (const stream of [false, true]) {
      first.answer = (call) => {
        const said = { 'x-request-id': `prov-${planted[0]}` };
        if (stream && status === 200) call.stream([`data: ${JSON.stringify({ error })}\n\n`]);
        else call.reply(status, { error }, said);
      };
      const client = new ClientStream(key, 'chat', SPEECH.chat.request({ stream })).read();
      answers += `${JSON.stringify((await client.begun).headers)}${(await client.ended).text}`;
    }
  }
  await gateway.stop();
  const stored = readFileSync(requestLogFile(gateway.dataDir), 'latin1');
  assert.match(answers, /It is true that \[redacted\], \[redacted\], \[redacted\]/);
  for (const [name, text] of [
    ['an answer', answers],
    ['the log of the process', written],
    ['the request log', stored],
  ] as const) {
    for (const secret of [...planted, basic.slice(6)]) {
      assert.equal(text.includes(secret), false, `${name} has ${secret}`);
    }
  }
});
