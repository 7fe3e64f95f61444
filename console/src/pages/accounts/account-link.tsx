import { Link } from 'wouter';
import { useAccount } from '../../api/accounts.ts';

/** By its name as soon as that is known. */
export function AccountLink({ id }: { id: string }) {
  const { data: account } = useAccount(id, 60_000);
  return (
    <Link href={`/accounts/${id}`} className="link">
      {account?.name ?? id}
    </Link>
  );
}
