/** All that the ledger promises, behind a pooler that gives each transaction another session. */
import { after } from 'node:test';
import { GroupCommit } from '../../src/ledger/group-commit/group-commit.ts';
import { openPostgresStore } from '../../src/ledger/postgres/store.ts';
import { ledgerContract } from '../contract/contract.ts';
import { PATIENT, server, template } from '../contract/postgres-books.ts';
import { startTransactionPooler } from '../support/transaction-pooler.ts';

const pooler = await startTransactionPooler(server.port);
after(() => pooler[Symbol.asyncDispose]());

ledgerContract('PostgreSQL behind a pooler', async (clock) => {
  const url = server.url(await server.createDatabase(template)).replace(`:${server.port}/`, `:${pooler.port}/`);
  return {
    connect: async () => new GroupCommit(await openPostgresStore({ url, clock, ...PATIENT })),
    close: async () => undefined,
  };
});
