/** Whether all is well here, who may do what, who did what, and what is set. */
import { useSession } from '../../api/session.tsx';
import { Page } from '../../ui/page.tsx';
import { Books } from './books.tsx';
import { Doctor } from './doctor.tsx';
import { InForce } from './in-force.tsx';
import { Operators } from './operators.tsx';
import { Trail } from './trail.tsx';

export function SettingsPage() {
  const { session, mayWrite } = useSession();
  const role = session?.operator.role;
  return (
    <Page
      title="Settings"
      answer={
        <>
          You are <strong>{session?.operator.name}</strong>, with the role {role}.
        </>
      }
    >
      <Books />
      {mayWrite && <Doctor />}
      {role === 'owner' && <Operators />}
      {mayWrite && <Trail />}
      {mayWrite && <InForce />}
    </Page>
  );
}
