import { after } from 'node:test';
import type { Clock } from '../../src/core/clock.ts';
import { openPostgresStore } from '../../src/ledger/postgres/store.ts';
import { startPostgres } from '../support/postgres.ts';
import { ledgerContract } from './contract.ts';
import type { OpenedBooks } from './fixtures.ts';

const server = await startPostgres();
after(() => server.stop());
const template = await server.createDatabase();
await (await openPostgresStore({ url: server.url(template) })).close();

async function openBooks(clock: Clock): Promise<OpenedBooks> {
  const url = server.url(await server.createDatabase(template));
  return { connect: () => openPostgresStore({ url, clock }), close: async () => undefined };
}

ledgerContract('PostgreSQL', openBooks);
