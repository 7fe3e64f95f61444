/** The pages of the rail, in their order. */
import { useMemo } from 'react';
import { useSession } from '../api/session.tsx';
import {
  IconAccounts,
  IconAlerts,
  IconKeys,
  IconModels,
  IconOverview,
  IconPlayground,
  IconRequests,
  IconSettings,
} from '../ui/icons.tsx';

export interface Place {
  readonly href: string;
  readonly label: string;
  readonly icon: (props: { size?: number }) => React.ReactNode;
  /** The letter after `g`. */
  readonly letter: string;
  /** Who has nothing to do there does not see it. */
  readonly hiddenFrom?: readonly string[];
}

export const PLACES: readonly Place[] = [
  { href: '/', label: 'Overview', icon: IconOverview, letter: 'o' },
  { href: '/requests', label: 'Requests', icon: IconRequests, letter: 'r' },
  { href: '/accounts', label: 'Accounts', icon: IconAccounts, letter: 'a' },
  { href: '/keys', label: 'Keys', icon: IconKeys, letter: 'k' },
  { href: '/models', label: 'Models', icon: IconModels, letter: 'm', hiddenFrom: ['account-admin'] },
  {
    href: '/playground',
    label: 'Playground',
    icon: IconPlayground,
    letter: 'p',
    hiddenFrom: ['viewer', 'account-admin'],
  },
  { href: '/alerts', label: 'Alerts', icon: IconAlerts, letter: 'l', hiddenFrom: ['account-admin'] },
  { href: '/settings', label: 'Settings', icon: IconSettings, letter: 's', hiddenFrom: ['account-admin'] },
];

/** Those that this operator can use. */
export function usePlaces(): readonly Place[] {
  const role = useSession().session?.operator.role ?? '';
  return useMemo(() => PLACES.filter(({ hiddenFrom = [] }) => !hiddenFrom.includes(role)), [role]);
}
