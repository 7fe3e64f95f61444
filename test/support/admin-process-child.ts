/** A stand-in for the gateway: the store with its lock, and the operator's socket, nothing else. */
import { ensureDataDir, storeFile } from '../../src/admin/data-folder.ts';
import { AdminServer } from '../../src/admin/http/server.ts';
import { installationSecret } from '../../src/admin/secrets.ts';
import { AdminService } from '../../src/admin/service.ts';
import { listenOnSocket } from '../../src/admin/socket.ts';
import { systemClock } from '../../src/core/clock.ts';
import { createLedger } from '../../src/ledger/ledger.ts';
import { openInProcessStore } from '../../src/ledger/sqlite/in-process-store.ts';
import { testOperators } from './admin-fixture.ts';

const dataDir = process.argv[2] ?? '';
await ensureDataDir(dataDir);
const secret = await installationSecret(dataDir, null);
const ledger = createLedger(openInProcessStore({ file: storeFile(dataDir) }));
const service = new AdminService({
  ledger,
  operators: testOperators(dataDir, systemClock()),
  console: () => ({ origin: 'http://127.0.0.1:8081', fingerprint: null }),
  installationSecret: secret,
  clock: systemClock(),
  gatewayOrigin: 'http://127.0.0.1:9999',
  known: () => ({ providers: ['sandbox-a', 'sandbox-b'], models: ['sandbox/alpha', 'sandbox/beta'] }),
});
const admin = new AdminServer(service, { secret: null });
const listener = await listenOnSocket(admin.server, dataDir, () => admin.close());
process.once('SIGTERM', () => {
  void (async () => {
    await listener.close();
    await ledger.close();
  })();
});
process.stdout.write('ready\n');
