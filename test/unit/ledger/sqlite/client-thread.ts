/** A thread of its own on the one writer: admits, and tells how many were admitted. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { createLedgerOn } from '../../../../src/ledger/ledger.ts';
import { connectToWriter } from '../../../../src/ledger/sqlite/writer-client.ts';
import { admitRequest } from '../../../contract/fixtures.ts';

const { port, keyId, name, requests } = workerData as {
  port: MessagePort;
  keyId: string;
  name: string;
  requests: number;
};
const ledger = createLedgerOn(connectToWriter(port));
const outcomes = await Promise.all(
  Array.from({ length: requests }, (_, i) => ledger.admit(admitRequest(keyId, `${name}-${i}`, 1n))),
);
parentPort?.postMessage(outcomes.filter(({ kind }) => kind === 'admitted').length);
await ledger.close();
