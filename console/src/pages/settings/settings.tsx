/** Whether all is well here, who may do what, who did what, and what is set. */
import { useSession } from '../../api/session.tsx';
import { Page } from '../../ui/page.tsx';
import { Books } from './books.tsx';
import { Doctor } from './doctor.tsx';
import { InForce } from './in-force.tsx';
import { Operators } from './operators.tsx';
import { Trail } from './trail.tsx';

export function SettingsPage() {
  const { session, mayOperate } = useSession();
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
      {mayOperate && <Doctor />}
      {role === 'owner' && <Operators />}
      {mayOperate && <Trail />}
      {mayOperate && <InForce />}
    </Page>
  );
}
