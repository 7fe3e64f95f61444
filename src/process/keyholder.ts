/** The key holder's page of a serving thread. */
import type { Settings } from '../config/config.ts';
import type { TrustedProxies } from '../core/client-address.ts';
import type { Gateway } from '../exchange/gateway.ts';
import type { Pages } from '../http/app.ts';
import { KeyholderPage } from '../keyholder/page.ts';
import type { LedgerAdmin } from '../ledger/port.ts';
import { viewOf } from '../observe/request-log/entry.ts';
import { LateRequestLogReader } from './request-log.ts';

const REQUESTS_SHOWN = 50;

export interface OpenedPage extends Pages {
  close(): Promise<void>;
}

export function openKeyholderPage(options: {
  readonly gateway: Gateway;
  readonly ledger: Pick<LedgerAdmin, 'usageReport'>;
  readonly settings: Settings;
  readonly installationSecret: string;
  readonly secure: boolean;
  readonly proxies: TrustedProxies | null;
}): OpenedPage {
  const { gateway, ledger, settings, installationSecret } = options;
  const log = new LateRequestLogReader(settings);
  const page = new KeyholderPage({
    gateway,
    ledger,
    installationSecret,
    proxies: options.proxies,
    secure: options.secure || settings.publicUrl?.startsWith('https:') === true,
    requests: async (keyId) => {
      if (!gateway.policy().requestLog.enabled) return null;
      const reader = await log.get();
      return (await reader.list({ keyId, limit: REQUESTS_SHOWN })).entries.map(viewOf);
    },
  });
  return {
    serve: (request, response, path, origin) => page.serve(request, response, path, origin),
    close: () => log.close(),
  };
}
