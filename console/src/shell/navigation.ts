/** The pages of the rail, in their order. */
import { useSession } from '../api/session.tsx';
import {
  IconAccounts,
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
  /** Not for those who may only look. */
  readonly writers?: boolean;
}

export const PLACES: readonly Place[] = [
  { href: '/', label: 'Overview', icon: IconOverview, letter: 'o' },
  { href: '/requests', label: 'Requests', icon: IconRequests, letter: 'r' },
  { href: '/accounts', label: 'Accounts', icon: IconAccounts, letter: 'a' },
  { href: '/keys', label: 'Keys', icon: IconKeys, letter: 'k' },
  { href: '/models', label: 'Models', icon: IconModels, letter: 'm' },
  { href: '/playground', label: 'Playground', icon: IconPlayground, letter: 'p', writers: true },
  { href: '/settings', label: 'Settings', icon: IconSettings, letter: 's' },
];

/** Those that this operator can use. */
export function usePlaces(): readonly Place[] {
  const { mayWrite } = useSession();
  return PLACES.filter(({ writers = false }) => mayWrite || !writers);
}
