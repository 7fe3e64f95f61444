/** Whether the gateway answers. While it does not, it is asked again every now and then, and pages catch up after. */
import { useSyncExternalStore } from 'react';

const AGAIN_MS = 1_500;

let lost = false;
let waiting = false;
const listeners = new Set<() => void>();
let onBack: () => void = () => {};

export function whenBack(listener: () => void): void {
  onBack = listener;
}

export function connectionLost(): void {
  set(true);
  if (waiting) return;
  waiting = true;
  setTimeout(tryAgain, AGAIN_MS);
}

export function connectionWorks(): void {
  const wasLost = lost;
  set(false);
  if (wasLost) onBack();
}

async function tryAgain(): Promise<void> {
  waiting = false;
  try {
    // Any answer will do, also a refusal.
    await fetch('/admin/v1/health', { cache: 'no-store', credentials: 'same-origin' });
    connectionWorks();
  } catch {
    connectionLost();
  }
}

function set(value: boolean): void {
  if (lost === value) return;
  lost = value;
  for (const listener of listeners) listener();
}

export function useConnectionLost(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => lost,
  );
}
