/** The pages of the rail, in their order. */
import { IconAccounts, IconKeys, IconOverview, IconRequests, IconSettings } from '../ui/icons.tsx';

export interface Place {
  readonly href: string;
  readonly label: string;
  readonly icon: (props: { size?: number }) => React.ReactNode;
  /** The letter after `g`. */
  readonly letter: string;
}

export const PLACES: readonly Place[] = [
  { href: '/', label: 'Overview', icon: IconOverview, letter: 'o' },
  { href: '/requests', label: 'Requests', icon: IconRequests, letter: 'r' },
  { href: '/accounts', label: 'Accounts', icon: IconAccounts, letter: 'a' },
  { href: '/keys', label: 'Keys', icon: IconKeys, letter: 'k' },
  { href: '/settings', label: 'Settings', icon: IconSettings, letter: 's' },
];
