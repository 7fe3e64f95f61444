/** The keys that work on every page. They are silent while somebody types or a dialog is open. */
import { useEffect, useRef } from 'react';
import { useLocation } from 'wouter';
import { usePlaces } from './navigation.ts';

const AFTER_G_MS = 1_000;

export function useShortcuts(actions: { palette: () => void; help: () => void }): void {
  const [, navigate] = useLocation();
  const places = usePlaces();
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    let pressedG = 0;
    const onKey = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        latest.current.palette();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
      const place = places.find(({ letter }) => letter === event.key);
      if (event.timeStamp - pressedG < AFTER_G_MS && place !== undefined) navigate(place.href);
      else if (event.key === '/') document.querySelector<HTMLInputElement>('[data-search]')?.focus();
      else if (event.key === '?') latest.current.help();
      else if (event.key === 'e' || event.key === 'c') press(event.key);
      else {
        pressedG = event.key === 'g' ? event.timeStamp : 0;
        return;
      }
      pressedG = 0;
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [navigate, places]);
}

/** A page says with `data-key="e"` which of its buttons the key presses. */
function press(key: string): void {
  document.querySelector<HTMLButtonElement>(`[data-key="${key}"]`)?.click();
}

function isTyping({ target }: KeyboardEvent): boolean {
  const inField = (target as Element).closest('input, textarea, select, [contenteditable]') !== null;
  return inField || document.querySelector('[role="dialog"]') !== null;
}
