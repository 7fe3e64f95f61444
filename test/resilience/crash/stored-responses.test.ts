/** kill -9 while responses are being stored: each is there whole, with its charge, or not at all. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { before, test } from 'node:test';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { gatewayProcess } from '../../support/gateway-process.ts';
import { call } from '../../support/started-gateway.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const CLIENTS = 8;
const TURNS_BEFORE_KILL = 100;

const dataDir = temporaryFolder('gateway-crash');
before(async () => {
  await writeFile(join(dataDir, 'gateway.yaml'), 'sandbox: true\n');
});

interface Answer {
  readonly id: string;
  readonly store: boolean;
}

/** Large enough for several pages of the database. */
const LONG = 'the quick brown fox '.repeat(1_000);

async function turn(origin: string, key: string, said: string, previous: string | null): Promise<Answer> {
  const body = { model: 'sandbox/alpha', input: `${said} [[tokens=5]]`, previous_response_id: previous };
  const response = await call(`${origin}/v1/responses`, { key, body });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text) as Answer;
}

test('[F40] kill -9 while responses are stored: what a client saw kept is there whole, and nothing is there by half', async () => {
  const first = await gatewayProcess(dataDir);
  const keys: CreatedKey[] = [];
  for (let n = 0; n < CLIENTS; n++) keys.push(await first.admin.createKey({ mode: 'credit', credit: '100' }));
  const seen: { readonly key: CreatedKey; readonly answer: Answer }[] = [];
  let enough: () => void = () => {};
  const reached = new Promise<void>((resolve) => {
    enough = resolve;
  });
  const clients = keys.map(async (key, client) => {
    let previous: string | null = null;
    for (let n = 0; ; n++) {
      try {
        // Every fourth turn begins a conversation anew: a chain must not outgrow the window.
        const answer: Answer = await turn(
          first.origin,
          key.key,
          `${client} ${n} ${LONG}`,
          n % 4 === 0 ? null : previous,
        );
        previous = answer.id;
        seen.push({ key, answer });
        if (seen.length === TURNS_BEFORE_KILL) enough();
      } catch (error) {
        if (error instanceof TypeError) return;
        throw error;
      }
    }
  });
  await Promise.race([reached, Promise.all(clients)]);
  await first.kill('SIGKILL');
  await Promise.all(clients);
  assert.ok(seen.length >= TURNS_BEFORE_KILL);

  const second = await gatewayProcess(dataDir);
  try {
    assert.deepEqual((await second.admin.audit()).findings, []);
    for (const { key, answer } of seen) {
      const stored = await call(`${second.origin}/v1/responses/${answer.id}`, { key: key.key });
      assert.deepEqual(await stored.json(), answer);
    }
    for (const key of keys) {
      const last = seen.findLast((one) => one.key === key);
      if (last) await turn(second.origin, key.key, 'still there?', last.answer.id);
    }
  } finally {
    await second.kill('SIGTERM');
  }
  checkWhole(join(dataDir, 'gateway.db'));
});

/** Every response has its charge, its items, and its part in the sum of its key. */
function checkWhole(file: string): void {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const count = (sql: string): unknown => database.prepare(sql).get()?.n;
    const responses = Number(count('SELECT count(*) AS n FROM responses'));
    assert.ok(responses >= TURNS_BEFORE_KILL);
    assert.ok(Number(count("SELECT count(*) AS n FROM entries WHERE kind = 'charge'")) >= responses);
    const lone =
      'SELECT count(*) AS n FROM responses r WHERE NOT EXISTS (SELECT 1 FROM response_items i WHERE i.response_number = r.number)';
    assert.equal(count(lone), 0, 'responses without items');
    const wrong = `SELECT count(*) AS n FROM response_bytes b
      WHERE b.bytes <> (SELECT coalesce(sum(r.bytes), 0) FROM responses r WHERE r.key_id = b.key_id)`;
    assert.equal(count(wrong), 0, 'sums that are wrong');
  } finally {
    database.close();
  }
}
