/** In place of a page that the role of whoever is signed in does not open. */
import { Link } from 'wouter';
import { rolesOf, useSession } from '../api/session.tsx';
import { Empty, Page } from '../ui/page.tsx';
import { type Place, usePlaces } from './navigation.ts';

const list = new Intl.ListFormat('en-GB', { type: 'disjunction' });

export function NotForYou({ place }: { place: Place }) {
  const { session } = useSession();
  const [first] = usePlaces();
  return (
    <Page title={place.label}>
      <Empty
        title="Your role cannot see this page"
        action={first && <Link href={first.href}>Go to {first.label}</Link>}
      >
        {place.about} It is for the role {list.format(rolesOf(place.needs))}; you are signed in as{' '}
        {session?.operator.name}, {session?.operator.role}. If you need it, ask an operator of this gateway.
      </Empty>
    </Page>
  );
}
