/** The environment of a gateway under test: free ports, its own data folder, and no providers from this machine. */
import { join } from 'node:path';

export function gatewayEnvironment(dataDir: string): Record<string, string> {
  return {
    GATEWAY_PORT: '0',
    GATEWAY_ADMIN_PORT: '0',
    GATEWAY_DATA: dataDir,
    GATEWAY_DISCOVER_LOCAL: 'off',
    // Workers write to the log of the tests.
    GATEWAY_LOG: 'warn',
  };
}

/** The place of its config file, where it has one. */
export function configFileIn(dataDir: string): string {
  return join(dataDir, 'gateway.yaml');
}
