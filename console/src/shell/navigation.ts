/** The pages of the rail, in their order. */
import { IconKeys, IconOverview, IconRequests } from '../ui/icons.tsx';

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
  { href: '/keys', label: 'Keys', icon: IconKeys, letter: 'k' },
];
