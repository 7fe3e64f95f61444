/** The key holder's page of a serving thread. */
import type { Settings } from '../config/config.ts';
import type { TrustedProxies } from '../core/client-address.ts';
import type { Gateway } from '../exchange/gateway.ts';
import type { Pages } from '../http/app.ts';
import { KeyholderPage } from '../keyholder/page.ts';
import { ownStatement, type WrittenStatement } from '../keyholder/statement.ts';
import type { LedgerAdmin } from '../ledger/port.ts';
import { viewOf } from '../observe/request-log/view.ts';
import { openOperatorData } from './operators.ts';
import { LateRequestLogReader } from './request-log.ts';

const REQUESTS_SHOWN = 50;

export interface OpenedPage extends Pages {
  close(): Promise<void>;
}

export function openKeyholderPage(options: {
  readonly gateway: Gateway;
  readonly ledger: Pick<LedgerAdmin, 'usageReport' | 'statement'>;
  readonly settings: Settings;
  readonly installationSecret: string;
  readonly secure: boolean;
  readonly proxies: TrustedProxies | null;
}): OpenedPage {
  const { gateway, ledger, settings, installationSecret } = options;
  const log = new LateRequestLogReader(settings);
  const data = openOperatorData(settings, installationSecret, gateway.clock);
  const page = new KeyholderPage({
    gateway,
    ledger,
    installationSecret,
    proxies: options.proxies,
    ended: data.endedPageSessions,
    secure: options.secure || settings.publicUrl?.startsWith('https:') === true,
    requests: async (keyId) => {
      if (!gateway.policy().requestLog.enabled) return null;
      try {
        const reader = await log.get();
        return (await reader.list({ keyId, limit: REQUESTS_SHOWN })).entries.map(viewOf);
      } catch (err) {
        gateway.log.warn({ err, keyId }, 'the request log cannot be read: the page of a key is shown without requests');
        return null;
      }
    },
    statement: (keyId, month) => writeStatement(ledger, gateway.clock.nowMs(), keyId, month),
  });
  return {
    serve: (request, response, path, origin) => page.serve(request, response, path, origin),
    close: async () => {
      await log.close();
      await data.close();
    },
  };
}

/** As the operator's API writes it; loaded with the first one, since few serving threads ever make any. */
async function writeStatement(
  ledger: Pick<LedgerAdmin, 'statement'>,
  nowMs: number,
  keyId: string,
  month: string,
): Promise<WrittenStatement | null> {
  const [{ readStatementTime, statementView }, { statementCsv, statementHtml, STATEMENT_POLICY }] = await Promise.all([
    import('../admin/money/statement.ts'),
    import('../admin/money/statement-text.ts'),
  ]);
  const time = readStatementTime({ month }, nowMs);
  const outcome = await ledger.statement(keyId, time.sinceMs, time.untilMs);
  if (outcome.kind !== 'statement') return null;
  const statement = ownStatement(outcome);
  const view = statementView(keyId, time, statement);
  return {
    ...time,
    statement,
    csv: () => `${statementCsv(view).join('\r\n')}\r\n`,
    html: () => ({ text: statementHtml(view), policy: STATEMENT_POLICY }),
  };
}
