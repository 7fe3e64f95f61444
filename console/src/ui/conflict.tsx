/** Somebody else has changed what a form is about: both are told apart, and nothing that was typed is lost. */
import { Alert, Button, Group } from '@mantine/core';
import { ApiError } from '../api/client.ts';
import { IconAlert } from './icons.tsx';
import css from './page.module.css';

export function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.status === 412;
}

export interface Difference {
  readonly name: string;
  readonly before: string;
  readonly now: string;
}

/** What has another value now than when the form was opened. */
export function differences(
  names: Readonly<Record<string, string>>,
  before: Readonly<Record<string, unknown>>,
  now: Readonly<Record<string, unknown>>,
): readonly Difference[] {
  return Object.entries(names)
    .map(([field, name]) => ({ name, before: text(before[field]), now: text(now[field]) }))
    .filter((difference) => difference.before !== difference.now);
}

function text(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ') || 'none';
  return value === undefined || value === null || value === '' ? 'none' : String(value);
}

export function Conflict({
  what,
  found,
  overwrite,
}: {
  what: string;
  found: readonly Difference[];
  overwrite: () => void;
}) {
  return (
    <Alert className={css.failure} icon={<IconAlert />} role="alert">
      <div className={css.failureText}>
        Somebody else has changed this {what} since you opened the form. Nothing was saved; what you typed is still
        here.
        <ul>
          {found.map(({ name, before, now }) => (
            <li key={name}>
              {name}: {before} → <strong>{now}</strong>
            </li>
          ))}
        </ul>
      </div>
      <Group gap="xs">
        <Button variant="default" size="compact-xs" onClick={overwrite}>
          Save my changes on top
        </Button>
        <span className="muted">Only the fields that you changed are saved.</span>
      </Group>
    </Alert>
  );
}
