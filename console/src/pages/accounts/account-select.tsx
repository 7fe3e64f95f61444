/** An account is chosen: found by the gateway, also by its id or by the operator's own. */
import { Select, type SelectProps } from '@mantine/core';
import { type Account, type AccountFilters, useAccount, useFoundAccounts } from '../../api/accounts.ts';
import { OFFERED, useSearch } from '../../ui/search.ts';
import { accountLabel } from './account-format.tsx';

interface Props extends Omit<SelectProps, 'data' | 'value' | 'onChange'> {
  readonly value: string | null;
  readonly onChange: (id: string | null) => void;
  /** Among which accounts. */
  readonly filters?: AccountFilters;
  /** Offered besides what the filters find. */
  readonly also?: Account | undefined;
  /** Not offered. */
  readonly except?: string;
}

export function AccountSelect({ value, onChange, filters, also, except, ...props }: Props) {
  const chosen = useAccount(value ?? '', 60_000, value !== null).data;
  const { query, opened, select } = useSearch(chosen && accountLabel(chosen));
  const found = useFoundAccounts(query, OFFERED, opened, filters).data ?? [];
  const fits = also?.name.toLowerCase().includes(query.toLowerCase()) ? [also] : [];
  const offered = new Map(
    [...(chosen === undefined ? [] : [chosen]), ...fits, ...found].map((account) => [account.id, account]),
  );
  if (except !== undefined) offered.delete(except);
  return (
    <Select
      data={Array.from(offered.values(), (account) => ({ value: account.id, label: accountLabel(account) }))}
      value={value}
      onChange={onChange}
      nothingFoundMessage="No account found."
      {...select}
      {...props}
    />
  );
}
