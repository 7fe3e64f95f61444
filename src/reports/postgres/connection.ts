import type { Row } from '../../storage/columns.ts';

/** What reports need of a connection of the ledger's. */
export type Query = (text: string, values?: readonly unknown[]) => Promise<readonly Row[]>;

export interface Connection {
  transaction<T>(mode: string, work: (query: Query) => Promise<T>): Promise<T>;
}
