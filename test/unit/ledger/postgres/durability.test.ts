/** Every commit of the ledger waits for the server's disk, whatever the server's default says. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { createLedger } from '../../../../src/ledger/ledger.ts';
import { openPostgresStore } from '../../../../src/ledger/postgres/store.ts';
import { admitRequest, newKey, settleRequest } from '../../../contract/fixtures.ts';
import { startPostgres } from '../../../support/postgres.ts';
import { startTransactionPooler } from '../../../support/transaction-pooler.ts';

const server = await startPostgres();
after(() => server.stop());

/** The settings with which the ledger's transactions were made that wrote entries, by the default of the database. */
async function settingsUsed(preset: string, port = server.port): Promise<readonly unknown[]> {
  const database = await server.createDatabase();
  const url = server.url(database).replace(String(server.port), String(port));
  await (await openPostgresStore({ url })).close();
  await server.query(
    database,
    `CREATE TABLE public.seen (setting text);
    CREATE FUNCTION public.see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO public.seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
    CREATE TRIGGER see AFTER INSERT ON gateway.entries FOR EACH STATEMENT EXECUTE FUNCTION public.see();
    CREATE TRIGGER see AFTER INSERT ON gateway.account_entries FOR EACH STATEMENT EXECUTE FUNCTION public.see();
    ALTER DATABASE ${database} SET synchronous_commit = ${preset}`,
  );
  const ledger = createLedger(await openPostgresStore({ url }));
  try {
    // On the connection of the operator, and on that of requests.
    const key = await ledger.createKey(newKey({ credit: 10n }));
    await ledger.addCredit(key.id, randomUUID(), 5n, null);
    const holdId = randomUUID();
    assert.equal((await ledger.admit(admitRequest(key.id, holdId, 5n))).kind, 'admitted');
    assert.equal((await ledger.settle(settleRequest(key.id, holdId, 3n))).kind, 'settled');
  } finally {
    await ledger.close();
  }
  return (await server.query(database, 'SELECT setting FROM public.seen')).map(({ setting }) => setting);
}

test('[F4] [F30] a server that does not wait for its disk is made to; a stricter or weaker wait for replicas is left alone', async () => {
  assert.deepEqual(await settingsUsed('off'), ['on', 'on', 'on']);
  assert.deepEqual(await settingsUsed('local'), ['local', 'local', 'local']);
  assert.deepEqual(await settingsUsed('remote_apply'), ['remote_apply', 'remote_apply', 'remote_apply']);
});

test('[F52] the same behind a pooler that gives each transaction another session', async () => {
  await using pooler = await startTransactionPooler(server.port);
  assert.deepEqual(await settingsUsed('off', pooler.port), ['on', 'on', 'on']);
  assert.deepEqual(await settingsUsed('remote_apply', pooler.port), ['remote_apply', 'remote_apply', 'remote_apply']);
});
