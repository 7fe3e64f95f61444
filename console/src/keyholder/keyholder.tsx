/** The key holder's page: how much is left, what holds it, what was used, what went wrong. */
import { Button, PasswordInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import css from '../pages/sign-in.module.css';
import { Mark } from '../ui/mark.tsx';
import { Failure } from '../ui/page.tsx';
import { type KeyholderView, look, Refused, signIn, signOut } from './api.ts';
import { KeyFigures } from './figures.tsx';

const VIEW = ['view'];

export function Keyholder() {
  const queries = useQueryClient();
  const { data, error, isFetching, refetch } = useQuery({ queryKey: VIEW, queryFn: look, staleTime: 60_000 });
  const signedOut = error instanceof Refused && error.status === 401;
  if (data !== undefined && !signedOut) {
    const leave = async (): Promise<void> => {
      await signOut().catch(() => {});
      queries.setQueryData<KeyholderView>(VIEW, undefined);
      await queries.resetQueries();
    };
    return (
      <main>
        <KeyFigures
          view={data}
          error={error}
          busy={isFetching}
          renew={() => void refetch()}
          leave={() => void leave()}
        />
      </main>
    );
  }
  if (error === null) return null;
  return <SignIn problem={signedOut ? null : error} ended={data !== undefined} done={() => void refetch()} />;
}

function SignIn({ problem, ended, done }: { problem: Error | null; ended: boolean; done: () => void }) {
  const [key, setKey] = useState('');
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      await signIn(key);
      setKey('');
      setError(null);
      done();
    } catch (refusal) {
      setError(refusal);
    } finally {
      setBusy(false);
    }
  };
  return (
    <main className={css.place}>
      <div className={css.box}>
        <Mark size={36} />
        <h1 className={css.title}>{ended ? 'Enter your API key again' : 'See what your API key has left'}</h1>
        <p className={css.text}>Balance, holds, usage and recent requests of this key only.</p>
        <form onSubmit={(event) => void submit(event)} className={css.form}>
          <PasswordInput
            label="API key"
            placeholder="Your API key"
            autoComplete="off"
            maxLength={200}
            autoFocus
            value={key}
            onChange={(event) => setKey(event.currentTarget.value)}
          />
          <Failure error={error ?? problem} />
          <Button type="submit" size="sm" fullWidth loading={busy} disabled={key.trim() === ''}>
            Show it
          </Button>
        </form>
        <p className={css.foot}>
          The key is sent once and not kept; a cookie stands for it for an hour. Each look counts as one request.
        </p>
      </div>
    </main>
  );
}
