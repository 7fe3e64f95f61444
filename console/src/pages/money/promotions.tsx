/** Credit that was given and expires, as far as something is left of it. */
import { useQuery } from '@tanstack/react-query';
import { addressOf, type Schemas, send } from '../../api/client.ts';
import { Failure, Section } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Credits, Id, Time } from '../../ui/values.tsx';

type Promotion = Schemas['Promotion'];

const COLUMNS: readonly Column<Promotion>[] = [
  {
    id: 'expires',
    header: 'Expires',
    value: ({ expires_at }) => expires_at,
    cell: ({ expires_at }) => <Time at={expires_at} />,
  },
  {
    id: 'left',
    header: 'Left, credits',
    value: ({ left }) => left,
    cell: ({ left }) => <Credits value={left} />,
    right: true,
  },
  {
    id: 'amount',
    header: 'Given, credits',
    value: ({ amount }) => amount,
    cell: ({ amount }) => <Credits value={amount} />,
    right: true,
  },
  { id: 'id', header: 'Entry', value: ({ id }) => id, cell: ({ id }) => <Id value={id} />, minor: true },
];

/** Nothing where there is none. */
export function Promotions({ of, id }: { of: 'keys' | 'accounts'; id: string }) {
  const { data, error } = useQuery({
    queryKey: [of, id, 'promotions'],
    queryFn: async ({ signal }) => {
      const address = addressOf(`/admin/v1/${of}/{id}/promotions`, { id });
      return ((await send('get', address, undefined, signal)) as Schemas['PromotionList']).data;
    },
  });
  if (data === undefined || data.length === 0) return <Failure error={error} />;
  return (
    <Section title="Credit that expires" note="It is spent first.">
      <DataTable name="Credit that expires" rows={data} columns={COLUMNS} rowId={(promotion) => promotion.id} />
    </Section>
  );
}
