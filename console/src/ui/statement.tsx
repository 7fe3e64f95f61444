/** The statement of a month: a page to print, and the same as CSV. Both come from the gateway, which adds up the ledger. */
import { Button, Select } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { addressOf } from '../api/client.ts';
import { Section } from './page.tsx';

const MONTHS = 13;
const named = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });

/** This month and the twelve before it, in UTC; newest first. */
function months(now: Date): { value: string; label: string }[] {
  return Array.from({ length: MONTHS }, (_, back) => {
    const begin = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1));
    return { value: begin.toISOString().slice(0, 7), label: named.format(begin) };
  });
}

export function Statement({ of, id }: { of: 'keys' | 'accounts'; id: string }) {
  return (
    <StatementSection
      href={(month, format) => addressOf(`/admin/v1/${of}/{id}/statement`, { id }, { month, format })}
    />
  );
}

/** With the choice of the month. `show` is what is done with it beside printing and the CSV. */
export function StatementSection({
  href,
  show,
  children = null,
}: {
  href: (month: string, format: 'html' | 'csv') => string;
  show?: (month: string) => ReactNode;
  children?: ReactNode;
}) {
  const [choices] = useState(() => months(new Date()));
  const [month, setMonth] = useState(choices[0]?.value ?? '');
  return (
    <Section
      title="Statement"
      note="Opening balance, entries, usage and closing balance."
      actions={
        <>
          <Select
            size="xs"
            w={160}
            aria-label="Month of the statement"
            allowDeselect={false}
            data={choices}
            value={month}
            onChange={(value) => setMonth(value ?? month)}
          />
          {show?.(month)}
          <Button component="a" href={href(month, 'html')} target="_blank" rel="noopener" variant="default">
            Open to print
          </Button>
          <Button component="a" href={href(month, 'csv')} variant="default">
            CSV
          </Button>
        </>
      }
    >
      {children}
    </Section>
  );
}
