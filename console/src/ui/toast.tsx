/** A short word after something was done. It goes by itself and is read out. */
import { useSyncExternalStore } from 'react';
import { IconCheck } from './icons.tsx';
import css from './toast.module.css';

let message: string | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

export function toast(text: string): void {
  clearTimeout(timer);
  set(text);
  timer = setTimeout(() => set(null), 3_500);
}

function set(text: string | null): void {
  message = text;
  for (const listener of listeners) listener();
}

export function Toasts() {
  const text = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => message,
  );
  return (
    <div className={css.place} role="status">
      {text !== null && (
        <div className={css.toast}>
          <IconCheck /> {text}
        </div>
      )}
    </div>
  );
}
