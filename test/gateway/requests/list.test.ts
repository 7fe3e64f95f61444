/** The request log as an operator asks for it: the commands, the admin API, and what runs now. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { AdminClient } from '../../../src/admin/client.ts';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { readSearch } from '../../../src/admin/requests/requests.ts';
import type { CommandArguments } from '../../../src/cli/arguments.ts';
import { requestLine } from '../../../src/cli/requests-text.ts';
import { readSettings } from '../../../src/config/settings.ts';
import { explain } from '../../../src/observe/explain.ts';
import { entryOf } from '../../../src/observe/request-log/entry.ts';
import { viewOf } from '../../../src/observe/request-log/view.ts';
import { listRequests, showRequest, top } from '../../../src/process/requests.ts';
import { adminFetch } from '../../support/admin-fetch.ts';
import { requestRecord } from '../../support/request-entries.ts';
import { ask, ClientStream, type ScriptedGateway, scriptedGateway } from '../../support/scripted-gateway.ts';
import type { ScriptedCall } from '../../support/upstreams/scripted.ts';
import { SPEECH } from '../../support/upstreams/spoken.ts';

let scripted: ScriptedGateway;
let key: CreatedKey;
let other: CreatedKey;
const ids: string[] = [];

const OWN_ID = '7d5b0c63-0d3f-4c39-9d35-1a3d9b8f2f11';
const HOSTILE = 'evil\u001b[2Jagent\u202e';

before(async () => {
  scripted = await scriptedGateway({ provider: { circuit_breaker: false } });
  key = await scripted.gateway.creditKey({ label: 'team blue' });
  other = await scripted.gateway.creditKey({ label: 'team red' });
  scripted.first.answer = (call) => call.reply(200, SPEECH.chat.whole('Hi'));
  for (const one of [key, key, other]) ids.push(String((await ask(one, 'chat')).headers['x-request-id']));
  scripted.first.answer = (call) => call.reply(500, {});
  const headers = { 'user-agent': 'evil agent', 'x-client-request-id': OWN_ID };
  const client = new ClientStream(other, 'chat', SPEECH.chat.request({}), headers).read();
  ids.push(String((await client.begun).headers['x-request-id']));
  await client.ended;
  await logged(ids.length);
});
after(() => scripted[Symbol.asyncDispose]());

function given(flags: Record<string, string>, ...switches: string[]): CommandArguments {
  return { operands: [], flags, switches: new Set(switches) };
}

const connectAdmin = async () => ({ api: scripted.gateway.admin, isRunning: true, close: async () => {} });

async function list(flags: Record<string, string>, ...switches: string[]): Promise<string> {
  const settings = readSettings({ GATEWAY_DATA: scripted.gateway.dataDir });
  let printed = '';
  const print = (text: string): void => {
    printed += text;
  };
  await listRequests(settings, given(flags, ...switches), print, new AbortController().signal, connectAdmin);
  return printed;
}

interface Page {
  readonly data: readonly { readonly id: string; readonly key_id: string }[];
  readonly next: string | null;
}

async function found(flags: Record<string, string>): Promise<string[]> {
  return (JSON.parse(await list(flags, 'json')) as Page).data.map(({ id }) => id);
}

async function logged(count: number, flags: Record<string, string> = {}): Promise<void> {
  for (const untilMs = Date.now() + 120_000; Date.now() < untilMs; await delay(20)) {
    if ((await found(flags)).length >= count) return;
  }
  throw new Error('the requests never came to the log');
}

describe('gateway requests list', () => {
  test('has every request, newest first, as a table and as JSON', async () => {
    assert.deepEqual(await found({}), ids.toReversed());
    const table = await list({});
    assert.match(table, /^RECEIVED +ID +OUTCOME +KEY +MODEL +PROVIDERS +TOOK +COST\n/);
    assert.match(table, /200, answered +team blue +tested +one/);
    assert.match(table, /502 upstream_error/);
  });

  test("finds by key, model, provider, the client's own id, status, condition, time, duration and cost", async () => {
    assert.deepEqual(await found({ key: key.id }), [ids[1], ids[0]]);
    assert.deepEqual(await found({ status: '5xx' }), [ids[3]]);
    assert.deepEqual(await found({ status: '200', key: other.id }), [ids[2]]);
    assert.deepEqual(await found({ condition: 'upstream_error', provider: 'one', model: 'tested' }), [ids[3]]);
    assert.deepEqual(await found({ format: 'chat' }), ids.toReversed());
    assert.deepEqual(await found({ format: 'messages' }), []);
    assert.deepEqual(await found({ 'client-request-id': OWN_ID }), [ids[3]]);
    assert.deepEqual(await found({ since: '1h', until: '2099-01-01' }), ids.toReversed());
    assert.deepEqual(await found({ until: '1h' }), []);
    assert.deepEqual(await found({ slower: '10m' }), []);
    assert.deepEqual(await found({ costlier: '0.00001' }), [ids[2], ids[1], ids[0]]);
    assert.match(await list({ key: 'nobody' }), /^No request of the log matches\./);
  });

  test('takes a duration with a fraction as it is written', async () => {
    const durations = ['0.5ms', '2.5ms', '1.001s', '0.3s', '1.5m', '8.001m'];
    assert.deepEqual(
      durations.map((slower_than) => readSearch({ slower_than }, 0).slowerThanMs),
      [0.5, 2.5, 1_001, 300, 90_000, 480_060],
    );
    assert.deepEqual(await found({ slower: '600000.5ms' }), []);
  });

  test('gives one page after the other', async () => {
    const text = await list({ limit: '3' });
    const before = /--before (\S+)/.exec(text)?.[1] ?? '';
    assert.deepEqual(await found({ limit: '3', before }), [ids[0]]);
  });

  test('follows: what is there, and then what comes', async () => {
    const settings = readSettings({ GATEWAY_DATA: scripted.gateway.dataDir });
    const stop = new AbortController();
    const lines: string[] = [];
    const arrived = Promise.withResolvers<void>();
    const following = listRequests(
      settings,
      given({ key: key.id }, 'follow', 'json'),
      (line) => {
        lines.push((JSON.parse(line) as { id: string }).id);
        if (lines.length === 3) arrived.resolve();
      },
      stop.signal,
      connectAdmin,
    );
    while (lines.length < 2) await delay(10);
    await ask(other, 'chat');
    const { headers } = await ask(key, 'chat');
    ids.push(String(headers['x-request-id']));
    await arrived.promise;
    stop.abort();
    await following;
    assert.deepEqual(lines, [ids[0], ids[1], ids.at(-1)]);
  });

  test('finds by account, with those below it or without', async () => {
    const { admin } = scripted.gateway;
    const root = await admin.accounts.create({ name: 'Acme' });
    const team = await admin.accounts.create({ name: 'a team', parent: root.id });
    const below = await admin.createKey({ mode: 'credit', account: team.id });
    const { headers } = await ask(below, 'chat');
    const id = String(headers['x-request-id']);
    await logged(1, { key: below.id });
    assert.deepEqual(await found({ account: root.id }), [id]);
    const shown = (await adminFetch(scripted.gateway.dataDir)(`/requests/${id}`)).body as {
      request: { account_id: string };
      explanation: string[];
    };
    assert.equal(shown.request.account_id, team.id);
    assert.ok(shown.explanation[1]?.includes(`of account ${team.id}`));
    assert.deepEqual(await found({ account: team.id, below: 'no' }), [id]);
    assert.deepEqual(await found({ account: root.id, below: 'no' }), []);
    const others = await found({ account: 'none' });
    assert.ok(others.includes(ids[0] ?? '') && !others.includes(id));
    const asked: object[] = [];
    class Watched extends AdminClient {
      override all: AdminClient['all'] = (name, filters = {}) => {
        asked.push(filters);
        return admin.all(name, filters);
      };
    }
    const api = new Watched({ name: 'nowhere', send: () => assert.fail('nothing else is asked for') });
    const connect = async () => ({ api, isRunning: true, close: async () => {} });
    const settings = readSettings({ GATEWAY_DATA: scripted.gateway.dataDir });
    await listRequests(settings, given({ account: 'none' }), () => {}, new AbortController().signal, connect);
    assert.deepEqual(asked, [{ account: 'none', below: 'yes' }], 'no more keys are read than are wanted');
    await assert.rejects(list({ account: 'acct_nope' }), /acct_nope/);
  });

  const WRONG: readonly [Record<string, string>, RegExp][] = [
    [{ since: 'yesterday' }, /since is "yesterday": must be a time such as/],
    [{ since: '-5h' }, /since/],
    [{ since: '2026-02-31' }, /since is "2026-02-31": must be a time such as/],
    [{ until: '2026-01-31 and then' }, /until is "2026-01-31 and then": must be a time such as/],
    [{ since: '1h', until: '2h' }, /until must be later than since/],
    [{ status: '6xx' }, /status is "6xx": must be a status such as 429, or a class such as 5xx/],
    [{ status: 'teapot' }, /status/],
    [{ condition: 'bad_luck' }, /condition/],
    [{ format: 'xml' }, /format .*chat, responses, messages/],
    [{ slower: 'long' }, /slower_than is "long": must be a time such as 500ms/],
    [{ costlier: '-1' }, /costlier_than/],
    [{ costlier: '1e999' }, /costlier_than/],
    [{ limit: '0' }, /limit/],
    [{ limit: '100000' }, /limit/],
    [{ before: "x' OR 1=1" }, /before .*must be the id of a request/],
    [{ key: 'k'.repeat(1_000) }, /key/],
  ];
  for (const [flags, message] of WRONG) {
    test(`refuses ${JSON.stringify(flags).slice(0, 60)} with what is expected`, async () => {
      await assert.rejects(list(flags), message);
    });
  }

  test('a time before there were any is the beginning', async () => {
    assert.deepEqual(await found({ since: '999999d', key: key.id }), await found({ key: key.id }));
    assert.deepEqual(await found({ until: '999999d' }), []);
  });

  test('what is to come has no end', async () => {
    for (const flags of [{ until: '1h' }, { before: ids[0] ?? '' }]) {
      await assert.rejects(
        list(flags, 'follow'),
        /--follow shows requests as they end: leave out --until and --before/,
      );
    }
  });

  test('an id that is not there is answered with where to look', async () => {
    const settings = readSettings({ GATEWAY_DATA: scripted.gateway.dataDir });
    for (const id of ['req_0', 'nonsense', "' OR 1=1 --", 'x'.repeat(5_000)]) {
      const wrong = { operands: [id], flags: {}, switches: new Set<string>() };
      await assert.rejects(
        showRequest(settings, wrong),
        /is in the log: check the id \(x-request-id of the response\)/,
      );
    }
  });

  test('a label with a line end, and what else a terminal would act on, is shown as escapes', async () => {
    await assert.rejects(scripted.gateway.creditKey({ label: 'line\nend' }), /must be one line/);
    const record = requestRecord({ model: HOSTILE, providers: ['one'] });
    Object.assign(record, { userAgent: HOSTILE, clientRequestId: HOSTILE, keyLabel: HOSTILE, message: HOSTILE });
    Object.assign(record, { condition: 'invalid_request', status: 400 });
    const view = viewOf(entryOf(record));
    for (const text of [explain(view).join('\n'), requestLine(view)]) {
      assert.deepEqual([text.includes('\u001b'), text.includes('\u202e')], [false, false]);
      assert.ok(text.includes('\\u{1b}[2J'));
    }
  });
});

describe('the admin API', () => {
  test('has the same requests, one of them with its story, and refuses what it does not know', async () => {
    const admin = adminFetch(scripted.gateway.dataDir);
    const { data } = (await admin('/requests?status=5xx')).body as Page;
    assert.ok(data.some(({ id }) => id === ids[3]));
    const one = (await admin(`/requests/${ids[3]}`)).body as { request: { id: string }; explanation: string[] };
    assert.equal(one.request.id, ids[3]);
    assert.match(one.explanation.join('\n'), /502 upstream_error/);
    assert.equal((await admin('/requests/req_none')).status, 404);
    for (const query of ['limit=0', 'status=abc', 'since=never', 'colour=red', 'condition=x', 'before=%00']) {
      assert.equal((await admin(`/requests?${query}`)).status, 400, query);
    }
  });

  test('streams requests as they end', async () => {
    const admin = adminFetch(scripted.gateway.dataDir);
    assert.equal((await admin('/requests/stream?status=nine')).status, 400);
    const stream = await admin.stream(`/requests/stream?key=${key.id}`);
    await stream.until(/: requests as they end/);
    scripted.first.answer = (call) => call.reply(200, SPEECH.chat.whole('Hi'));
    const { headers } = await ask(key, 'chat');
    const text = await stream.until(/event: request\n/);
    assert.ok(text.includes(String(headers['x-request-id'])));
    stream.close();
  });

  test('has 20 streams at most, however they come', async () => {
    const admin = adminFetch(scripted.gateway.dataDir);
    const streams = await Promise.all(Array.from({ length: 25 }, () => admin.stream('/requests/stream')));
    const answers = await Promise.all(streams.map((stream) => stream.until(/as they end|rate_limited/)));
    const refused = answers.filter((answer) => answer.includes('20 streams are open already'));
    // One of the test before may not have ended yet.
    assert.ok(refused.length >= 5 && refused.length < 10, `${refused.length} of 25 were refused`);
    for (const stream of streams) stream.close();
  });

  test('shows what runs now, and gateway top prints it', async () => {
    const upstream = Promise.withResolvers<ScriptedCall>();
    scripted.first.answer = upstream.resolve;
    const client = new ClientStream(key, 'chat', SPEECH.chat.request({ stream: true })).read();
    const call = await upstream.promise;
    const { opening, text, closing } = SPEECH.chat;
    call.streamHead();
    for (const frame of [...opening, text('Hello there')]) call.chunk(frame);
    await client.until(/Hello/);
    const [running] = await scripted.gateway.admin.runningRequests();
    assert.ok(running);
    assert.deepEqual(
      [running.key_id, running.model, running.provider, running.streamed],
      [key.id, 'tested', 'one', true],
    );
    assert.ok(BigInt(running.held) > 0n && running.output_bytes > 0);
    let printed = '';
    const print = (out: string): void => {
      printed += out;
    };
    await top(scripted.gateway.admin, given({}), print, false, new AbortController().signal);
    assert.match(printed, /^1 requests run, [\d.]+ credits held, about \d+ tokens per second\n/);
    assert.match(printed, /MODEL +RUNNING +HELD +TOKENS\/S\ntested +1 +[\d.]+ credits +\d/);
    for (const frame of closing) call.chunk(frame);
    call.finish();
    await client.ended;
  });
});
