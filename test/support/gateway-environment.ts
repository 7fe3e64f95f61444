/** The environment of a gateway under test: free ports, its own data folder, and no providers from this machine. */
import { join } from 'node:path';

/** The tests of a started gateway run a second time with the other transport (`npm test`). */
const TRANSPORT = process.env.GATEWAY_HTTP === undefined ? {} : { GATEWAY_HTTP: process.env.GATEWAY_HTTP };

export function gatewayEnvironment(dataDir: string): Record<string, string> {
  return {
    GATEWAY_PORT: '0',
    GATEWAY_ADMIN_PORT: '0',
    GATEWAY_DATA: dataDir,
    GATEWAY_DISCOVER_LOCAL: 'off',
    // Workers write to the log of the tests.
    GATEWAY_LOG: 'warn',
    ...TRANSPORT,
  };
}

/** The place of its config file, where it has one. */
export function configFileIn(dataDir: string): string {
  return join(dataDir, 'gateway.yaml');
}
