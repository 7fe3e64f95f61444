/** Whether all is well here, who may do what, who did what, and what is set. */
import { useSession } from '../../api/session.tsx';
import { Page } from '../../ui/page.tsx';
import { Books } from './books.tsx';
import { Doctor } from './doctor.tsx';
import { InForce } from './in-force.tsx';
import { Operators } from './operators.tsx';
import { Trail } from './trail.tsx';

export function SettingsPage() {
  const { session, may } = useSession();
  return (
    <Page
      title="Settings"
      answer={
        <>
          You are <strong>{session?.operator.name}</strong>, with the role {session?.operator.role}.
        </>
      }
    >
      <Books />
      {may('post /admin/v1/doctor') && <Doctor />}
      {may('get /admin/v1/operators') && <Operators />}
      {may('get /admin/v1/audit-trail') && <Trail />}
      {may('get /admin/v1/settings') && <InForce />}
    </Page>
  );
}
