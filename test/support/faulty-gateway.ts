/** The serving part of the gateway, as it is started, on a store that the test can make fail. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { AdminService } from '../../src/admin/service.ts';
import { readSettings } from '../../src/config/settings.ts';
import { type Clock, systemClock } from '../../src/core/clock.ts';
import { NO_LOG } from '../../src/core/log.ts';
import type { RequestObserver } from '../../src/core/request-record.ts';
import { createLedger } from '../../src/ledger/ledger.ts';
import { openDatabase } from '../../src/ledger/sqlite/database.ts';
import { openEngine } from '../../src/ledger/sqlite/engine.ts';
import { openOperatorData } from '../../src/process/operators.ts';
import { openRequestLog } from '../../src/process/request-log.ts';
import { type Serving, serve } from '../../src/process/serve.ts';
import { adminOf, type TestAdmin } from './admin-client.ts';
import { testOperators } from './admin-fixture.ts';
import { FaultyStore } from './faulty-store.ts';
import { configFileIn, gatewayEnvironment } from './gateway-environment.ts';

export interface FaultyGateway extends AsyncDisposable {
  readonly origin: string;
  readonly store: FaultyStore;
  /** The file below the store. */
  readonly database: DatabaseSync;
  readonly admin: TestAdmin;
  readonly dataDir: string;
  readonly metrics: Serving['metrics'];
}

const SECRET = 'an installation secret for tests only';
/** Short, so that readiness follows the store at once. */
const LEASE_MS = 600;

/** `clock`: of the store. */
export async function faultyGateway(
  config: string,
  clock: Clock = systemClock(),
  observers: readonly RequestObserver[] = [],
): Promise<FaultyGateway> {
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-chaos-'));
  const env = { ...gatewayEnvironment(dataDir), GATEWAY_CONFIG: configFileIn(dataDir) };
  await writeFile(env.GATEWAY_CONFIG, config);
  const file = join(dataDir, 'ledger.db');
  const database = openDatabase(file);
  const engine = openEngine(database, file, clock);
  const store = new FaultyStore({
    apply: async (batch) => engine.apply(batch),
    close: async () => engine.close(),
  });
  const ledger = createLedger(store, { leaseMs: LEASE_MS });
  const settings = readSettings(env);
  const requestLog = await openRequestLog(settings, NO_LOG);
  const operatorData = openOperatorData(settings, SECRET, systemClock());
  let origin = '';
  const serving = await serve({
    settings,
    env,
    log: NO_LOG,
    ledger,
    installationSecret: SECRET,
    // No test here asks the sandbox.
    sandboxUrl: 'http://127.0.0.1:9',
    observers,
    operatorData,
    requestLog,
  });
  origin = `http://127.0.0.1:${serving.port}`;
  const operators = testOperators(dataDir, systemClock());
  const admin = new AdminService({
    ledger,
    operators,
    console: () => ({ origin: 'http://127.0.0.1:8081', fingerprint: null }),
    installationSecret: SECRET,
    clock: systemClock(),
    gatewayOrigin: origin,
    known: () => serving.catalog(),
  });
  return {
    origin,
    store,
    database,
    metrics: serving.metrics,
    admin: adminOf(admin),
    dataDir,
    [Symbol.asyncDispose]: async () => {
      store.comeBack();
      await serving.drain();
      await serving.close();
      await operators.close();
      await operatorData.close();
      await requestLog.close();
      await ledger.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
