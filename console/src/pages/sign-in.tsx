/** Signing in: by the link that the gateway prints, or with a token. Again, over the page, when a session has ended. */
import { Button, Modal, PasswordInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { ApiError, call } from '../api/client.ts';
import { useSession } from '../api/session.tsx';
import { Mark } from '../ui/mark.tsx';
import { Failure } from '../ui/page.tsx';
import css from './sign-in.module.css';

/** Taken out of the address at once: it works only one time, and must not stay in the history. */
function takeTokenFromAddress(): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (token !== null) history.replaceState(null, '', location.pathname + location.search);
  return token;
}

const linkToken = takeTokenFromAddress();

const PROBLEMS: Readonly<Record<string, string>> = {
  no_role: 'Your organisation gives you no role here. Ask an operator of this gateway.',
  revoked: 'Your access to this gateway was revoked. Ask an operator.',
  failed: 'Signing in through your organisation did not work. Try again; the log of the gateway has the reason.',
};

function takeProblemFromAddress(): Error | null {
  const problem = new URLSearchParams(location.hash.slice(1)).get('problem');
  if (problem === null) return null;
  history.replaceState(null, '', location.pathname + location.search);
  return new Error(PROBLEMS[problem] ?? PROBLEMS.failed);
}

const returned = takeProblemFromAddress();

export function SignIn() {
  const { signIn } = useSession();
  const [error, setError] = useState<unknown>(returned);
  const [waiting, setWaiting] = useState(linkToken !== null);
  const tried = useRef(false);
  useEffect(() => {
    const use = (token: string | null): void => {
      if (token === null) return;
      signIn(token)
        .catch(setError)
        .finally(() => setWaiting(false));
    };
    if (!tried.current) use(linkToken);
    tried.current = true;
    // A link that is opened in this tab changes only the fragment, and loads nothing.
    const onHash = (): void => use(takeTokenFromAddress());
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, [signIn]);
  if (waiting) return null;
  return (
    <main className={css.place}>
      <div className={css.box}>
        <Mark size={36} />
        <h1 className={css.title}>Sign in to Model Gateway</h1>
        <p className={css.text}>
          Open the link that the gateway printed when it started, or make a new one on its machine:
        </p>
        <pre className={css.command}>npx gateway operators link</pre>
        <TokenForm problem={error} />
        <Organisation />
        <p className={css.foot}>A link works once, for 15 minutes.</p>
      </div>
    </main>
  );
}

/** What was typed behind it stays: after this, the same button can be pressed again. */
export function SignInAgain() {
  return (
    <Modal opened onClose={() => {}} withCloseButton={false} title="Your session has ended" size={400}>
      <p className={css.text}>
        Nothing on this page is lost. Sign in again and go on. A new link comes from{' '}
        <code>npx gateway operators link</code>; the part after <code>#token=</code> is the token.
      </p>
      <TokenForm problem={null} />
      <Organisation again />
    </Modal>
  );
}

/** Through OpenID Connect, where that is set up. Over a page with unsaved work it happens in another tab. */
function Organisation({ again = false }: { again?: boolean }) {
  const { resume } = useSession();
  const { data } = useQuery({
    queryKey: ['sign-in'],
    queryFn: ({ signal }) => call('get', '/admin/v1/sign-in', { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (data?.oidc !== true) return null;
  return (
    <div className={css.organisation}>
      <Button
        component="a"
        href="/admin/v1/oidc/login"
        {...(again && { target: '_blank', rel: 'noopener' })}
        variant="default"
        size="sm"
        fullWidth
      >
        Sign in with your organisation
      </Button>
      {again && (
        <Button variant="subtle" size="sm" fullWidth onClick={() => void resume()}>
          I have signed in: continue
        </Button>
      )}
    </div>
  );
}

function TokenForm({ problem }: { problem: unknown }) {
  const { signIn } = useSession();
  const [token, setToken] = useState('');
  const [error, setError] = useState<unknown>(problem);
  const [busy, setBusy] = useState(false);
  useEffect(() => setError(problem), [problem]);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      // A whole link can be pasted as well.
      await signIn(token.split('#token=').at(-1) ?? '');
    } catch (refusal) {
      setError(refusal instanceof ApiError && refusal.status === 401 ? new Error(WRONG) : refusal);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form onSubmit={submit} className={css.form}>
      <PasswordInput
        label="Token"
        placeholder="Sign-in link, or an operator’s token"
        autoComplete="off"
        data-autofocus
        maxLength={2_000}
        value={token}
        onChange={(event) => setToken(event.currentTarget.value)}
      />
      <Failure error={error} />
      <Button type="submit" size="sm" fullWidth loading={busy} disabled={token.trim() === ''}>
        Sign in
      </Button>
    </form>
  );
}

const WRONG = 'This token is not valid: it may have been used already, or it is older than 15 minutes.';
