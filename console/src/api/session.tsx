/** Who is signed in. The cookie is the browser's; this holds the operator's name, role and the CSRF token. */
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from 'react';
import { ApiError, call, keepCsrfToken, OfflineError, type Schemas, whenSignedOut } from './client.ts';
import { ROLES } from './roles.ts';

export type Session = Schemas['Session'];
/** Method and path, as the service has them in its table of roles. */
export type Operation = keyof typeof ROLES;

interface SessionContext {
  readonly session: Session | null;
  /** `expired`: there was a session, and what was being done is still on the page. */
  readonly state: 'unknown' | 'signed-out' | 'signed-in' | 'expired';
  /** Whether the service lets the role of whoever is signed in call it. The service decides; pages only hide. */
  readonly may: (operation: Operation) => boolean;
  /** Keys and accounts; an account-admin only those below its own account. */
  readonly mayWrite: boolean;
  /** Everything that is the whole gateway's: credit, refunds, the playground, the checks. */
  readonly mayOperate: boolean;
  readonly signIn: (token: string) => Promise<void>;
  /** Signed in elsewhere, in another tab: whether there is a session now. */
  readonly resume: () => Promise<void>;
  readonly signOut: (everywhere: boolean) => Promise<void>;
}

const Context = createContext<SessionContext | null>(null);
const ADDRESS = '/admin/v1/session';

/** Who may call it. */
export function rolesOf(operation: Operation): readonly string[] {
  return ROLES[operation];
}

export function SessionProvider({ children }: { children: ReactNode }) {
  const [session, setSession] = useState<Session | null>(null);
  const [state, setState] = useState<SessionContext['state']>('unknown');

  const take = useCallback((made: Session) => {
    keepCsrfToken(made.csrf_token);
    setSession(made);
    setState('signed-in');
  }, []);

  const signIn = useCallback(
    async (token: string) => take(await call('post', ADDRESS, { body: { token: token.trim() } })),
    [take],
  );

  const resume = useCallback(async () => {
    await call('get', ADDRESS, {}).then(take, () => {});
  }, [take]);

  const signOut = useCallback(async (everywhere: boolean) => {
    await (everywhere ? call('delete', '/admin/v1/sessions', {}) : call('delete', ADDRESS, {}));
    keepCsrfToken(null);
    setSession(null);
    setState('signed-out');
  }, []);

  useEffect(() => {
    whenSignedOut(() => setState((before) => (before === 'signed-in' || before === 'expired' ? 'expired' : before)));
    // The tab does not wait for the end of an outage to be told who it is.
    const restore = async (): Promise<void> => {
      try {
        take(await call('get', ADDRESS, {}));
      } catch (error) {
        if (error instanceof OfflineError) setTimeout(restore, 2_000);
        else if (error instanceof ApiError) setState('signed-out');
      }
    };
    void restore();
  }, [take]);

  const value = useMemo(() => {
    const role = session?.operator.role ?? '';
    const may = (operation: Operation): boolean => rolesOf(operation).includes(role);
    return {
      session,
      state,
      may,
      mayWrite: may('post /admin/v1/keys'),
      mayOperate: may('post /admin/v1/accounts/{id}/credit'),
      signIn,
      resume,
      signOut,
    };
  }, [session, state, signIn, resume, signOut]);
  return <Context value={value}>{children}</Context>;
}

export function useSession(): SessionContext {
  const context = useContext(Context);
  if (context === null) throw new Error('useSession outside of SessionProvider');
  return context;
}
