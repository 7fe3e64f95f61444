/** The pages of the rail, in their order. */
import { useMemo } from 'react';
import { type Operation, useSession } from '../api/session.tsx';
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
  /** What the page cannot do without: whoever may not call it does not see the page. */
  readonly needs: Operation;
  /** To whoever opens its address all the same: what it is about, and so why it is not for everybody. */
  readonly about?: string;
}

export const PLACES: readonly Place[] = [
  { href: '/', label: 'Overview', icon: IconOverview, letter: 'o', needs: 'get /admin/v1/usage' },
  { href: '/requests', label: 'Requests', icon: IconRequests, letter: 'r', needs: 'get /admin/v1/requests' },
  { href: '/accounts', label: 'Accounts', icon: IconAccounts, letter: 'a', needs: 'get /admin/v1/accounts' },
  { href: '/keys', label: 'Keys', icon: IconKeys, letter: 'k', needs: 'get /admin/v1/keys' },
  {
    href: '/models',
    label: 'Models',
    icon: IconModels,
    letter: 'm',
    needs: 'get /admin/v1/models',
    about: 'Models shows what providers charge, and the margin.',
  },
  {
    href: '/playground',
    label: 'Playground',
    icon: IconPlayground,
    letter: 'p',
    needs: 'post /admin/v1/playground',
    about: 'The playground spends credit of the gateway.',
  },
  {
    href: '/alerts',
    label: 'Alerts',
    icon: IconAlerts,
    letter: 'l',
    needs: 'get /admin/v1/alerts',
    about: 'Alerts are about the whole gateway.',
  },
  {
    href: '/settings',
    label: 'Settings',
    icon: IconSettings,
    letter: 's',
    needs: 'get /admin/v1/audit',
    about: 'Settings apply to the whole gateway.',
  },
];

/** Those that this operator can use. */
export function usePlaces(): readonly Place[] {
  const { may } = useSession();
  return useMemo(() => PLACES.filter(({ needs }) => may(needs)), [may]);
}

/** Whether an address is the place or something in it. */
export function isAt({ href }: Place, location: string): boolean {
  return href === '/' ? location === '/' : location === href || location.startsWith(`${href}/`);
}
