import { Modal } from '@mantine/core';
import css from './help.module.css';
import { usePlaces } from './navigation.ts';

const KEYS: readonly (readonly [string, string])[] = [
  ['Ctrl K', 'Find anything, go anywhere'],
  ['/', 'Search on this page'],
  ['j  k', 'Next and previous row'],
  ['Enter', 'Open the row'],
  ['c', 'Create'],
  ['e', 'Edit'],
  ['?', 'This list'],
];

export function Help({ opened, close }: { opened: boolean; close: () => void }) {
  const pages = usePlaces().map(({ letter, label }) => [`g ${letter}`, label] as const);
  return (
    <Modal opened={opened} onClose={close} title="Keyboard" size={380} closeButtonProps={{ 'aria-label': 'Close' }}>
      <dl className={css.keys}>
        {[...KEYS, ...pages].map(([key, meaning]) => (
          <div key={key}>
            <dt>{meaning}</dt>
            <dd>
              <kbd>{key}</kbd>
            </dd>
          </div>
        ))}
      </dl>
    </Modal>
  );
}
