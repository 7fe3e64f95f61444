import { Modal } from '@mantine/core';
import css from './help.module.css';
import { PLACES } from './navigation.ts';

const KEYS: readonly (readonly [string, string])[] = [
  ['Ctrl K', 'Find anything, go anywhere'],
  ['/', 'Search on this page'],
  ['j  k', 'Next and previous row'],
  ['Enter', 'Open the row'],
  ['c', 'Create'],
  ['e', 'Edit'],
  ['?', 'This list'],
  ...PLACES.map(({ letter, label }) => [`g ${letter}`, label] as const),
];

export function Help({ opened, close }: { opened: boolean; close: () => void }) {
  return (
    <Modal opened={opened} onClose={close} title="Keyboard" size={380} closeButtonProps={{ 'aria-label': 'Close' }}>
      <dl className={css.keys}>
        {KEYS.map(([key, meaning]) => (
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
