/** Values with their exact form: amounts, times, ids, states. */
import { ActionIcon, CopyButton, Tooltip } from '@mantine/core';
import { type ReactNode, useSyncExternalStore } from 'react';
import { ago, count, exactCredits, fullTime, nanosOf, shortCredits } from './format.ts';
import { IconCheck, IconCopy } from './icons.tsx';
import css from './values.module.css';

export function Credits({ value, exact = false }: { value: number | bigint; exact?: boolean }) {
  const nanos = typeof value === 'bigint' ? value : nanosOf(value);
  const text = exactCredits(nanos);
  return (
    <span className="num" title={`${text} credits`}>
      {exact ? text : shortCredits(nanos)}
    </span>
  );
}

export function Tokens({ value }: { value: number | bigint }) {
  return <span className="num">{count(value)}</span>;
}

/** One clock for the page; every time on it moves together. */
let now = Date.now();
const listeners = new Set<() => void>();
setInterval(() => {
  now = Date.now();
  for (const listener of listeners) listener();
}, 10_000);

export function useNow(): number {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => now,
  );
}

export function Time({ at }: { at: string | number | null | undefined }) {
  const current = useNow();
  if (at === null || at === undefined) return <span className="muted">–</span>;
  const ms = typeof at === 'number' ? at : Date.parse(at);
  return (
    <time dateTime={new Date(ms).toISOString()} title={fullTime(ms)} className={css.time}>
      {ago(ms, Math.max(current, Date.now()))}
    </time>
  );
}

export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  return (
    <CopyButton value={text} timeout={1_500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : label}>
          <ActionIcon
            size="sm"
            aria-label={copied ? 'Copied' : label}
            onClick={(event) => {
              event.preventDefault();
              event.stopPropagation();
              copy();
            }}
          >
            {copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}

/** A name for machines: monospaced, never broken, can be copied. */
export function Id({ value, shown, copy = true }: { value: string; shown?: string; copy?: boolean }) {
  return (
    <span className={css.id}>
      <code title={value}>{shown ?? value}</code>
      {copy && <Copy text={value} label={`Copy ${value}`} />}
    </span>
  );
}

export type Tone = 'ok' | 'warn' | 'bad' | 'neutral' | 'accent';

export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span className={css.badge} data-tone={tone}>
      {children}
    </span>
  );
}

/** State as a dot and a word: never colour alone. */
export function Dot({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <span className={css.state} data-tone={tone}>
      <span className={css.dot} />
      <span className={css.word}>{children}</span>
    </span>
  );
}
