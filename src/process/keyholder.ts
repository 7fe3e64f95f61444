/** The key holder's page of a serving thread. */
import type { StatementPolicy } from '../core/policy.ts';
import { type KeyholderOptions, KeyholderPage } from '../keyholder/page.ts';
import { ownStatement, type WrittenStatement } from '../keyholder/statement.ts';
import type { LedgerAdmin } from '../ledger/port.ts';
import type { RequestLogReader } from '../observe/request-log/store.ts';
import { viewOf } from '../observe/request-log/view.ts';

const REQUESTS_SHOWN = 50;

interface PageSources extends Omit<KeyholderOptions, 'ledger' | 'requests' | 'statement'> {
  readonly ledger: Pick<LedgerAdmin, 'usageReport' | 'statement'>;
  readonly requestLog: Pick<RequestLogReader, 'list'>;
}

export function keyholderPage({ requestLog, ...sources }: PageSources): KeyholderPage {
  const { gateway, ledger } = sources;
  return new KeyholderPage({
    ...sources,
    requests: async (keyId) => {
      if (!gateway.policy().requestLog.enabled) return null;
      try {
        return (await requestLog.list({ keyId, limit: REQUESTS_SHOWN })).entries.map(viewOf);
      } catch (err) {
        gateway.log.warn({ err, keyId }, 'the request log cannot be read: the page of a key is shown without requests');
        return null;
      }
    },
    statement: (keyId, month) =>
      writeStatement(ledger, gateway.clock.nowMs(), keyId, month, gateway.policy().statements),
  });
}

/** As the operator's API writes it; loaded with the first one, since few serving threads ever make any. */
async function writeStatement(
  ledger: Pick<LedgerAdmin, 'statement'>,
  nowMs: number,
  keyId: string,
  month: string,
  policy: StatementPolicy,
): Promise<WrittenStatement | null> {
  const [{ readStatementTime, statementView }, { statementCsv }, { statementHtml, STATEMENT_POLICY }] =
    await Promise.all([
      import('../admin/money/statement.ts'),
      import('../admin/money/statement-text.ts'),
      import('../admin/money/statement-page.ts'),
    ]);
  const time = readStatementTime({ month }, nowMs);
  const outcome = await ledger.statement(keyId, time.sinceMs, time.untilMs);
  if (outcome.kind !== 'statement') return null;
  const statement = ownStatement(outcome);
  const names = { keys: new Map([[keyId, { label: statement.name, accountId: null }]]), accounts: new Map() };
  const view = statementView(keyId, time, statement, { names, policy });
  return {
    ...time,
    statement,
    csv: () => `${statementCsv(view).join('\r\n')}\r\n`,
    html: () => ({ text: statementHtml(view), policy: STATEMENT_POLICY }),
  };
}
