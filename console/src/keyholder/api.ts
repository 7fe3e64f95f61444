/** What the page asks the gateway. The key is in memory only until it was posted. */
import type { KeyholderStatement, KeyholderView } from '../../../src/keyholder/view.ts';

export type { KeyholderRequest, KeyholderStatement, KeyholderView } from '../../../src/keyholder/view.ts';

export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'Refused';
    this.status = status;
  }
}

async function ask(method: string, path: string, body?: object): Promise<unknown> {
  const answer = await fetch(path, {
    method,
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
    credentials: 'same-origin',
    cache: 'no-store',
  }).catch(() => {
    throw new Error('The gateway does not answer. Try again in a moment.');
  });
  if (answer.ok) return answer.json();
  const { error } = (await answer.json().catch(() => ({}))) as { error?: { message?: string } };
  throw new Refused(answer.status, error?.message ?? `The gateway answered with status ${answer.status}.`);
}

export async function signIn(key: string): Promise<void> {
  await ask('POST', '/account/session', { key: key.trim() });
}

export async function signOut(): Promise<void> {
  await ask('DELETE', '/account/session');
}

export const STATEMENT = '/account/statement';

export async function statementOf(month: string): Promise<KeyholderStatement> {
  return (await ask('GET', `${STATEMENT}?month=${month}`)) as KeyholderStatement;
}

export async function look(): Promise<KeyholderView> {
  return (await ask('GET', '/account/data')) as KeyholderView;
}
