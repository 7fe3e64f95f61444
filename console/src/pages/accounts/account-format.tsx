/** What is said about an account wherever it is shown. */
import type { Account } from '../../api/accounts.ts';
import { headlineCredits, nanosOf, shortCount } from '../../ui/format.ts';
import { Dot } from '../../ui/values.tsx';

/** Customers may have teams of the same name. */
export function accountLabel({ name, parent, root_name: customer }: Account): string {
  return parent === null ? name : `${name} (${customer})`;
}

export function AccountStatus({ of: { status } }: { of: Account }) {
  return (
    <Dot tone={status === 'active' ? 'ok' : status === 'suspended' ? 'warn' : 'neutral'}>
      {status[0]?.toUpperCase() + status.slice(1)}
    </Dot>
  );
}

export function capText({ credit_cap: credits, token_cap: tokens }: Account): string | null {
  const caps = [
    credits && `${headlineCredits(nanosOf(credits.amount))} credits ${periodText(credits.period)}`,
    tokens && `${shortCount(tokens.amount)} tokens ${periodText(tokens.period)}`,
  ].filter((cap) => cap !== null);
  return caps.length === 0 ? null : caps.join(', ');
}

function periodText(period: string): string {
  return period === 'none' ? 'in total' : `per ${period}`;
}
