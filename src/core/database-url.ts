/** What a `DATABASE_URL` says besides the place: the driver does not read it. */
const CONNECT_TIMEOUT_S = 5;
const CONNECT_TIMEOUT_S_MAX = 600;

/** `connect_timeout` as PostgreSQL's own clients have it, in whole seconds; null where it is none. */
export function connectTimeoutMs(url: string): number | null {
  const text = new URL(url).searchParams.get('connect_timeout') ?? String(CONNECT_TIMEOUT_S);
  const seconds = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  return seconds >= 1 && seconds <= CONNECT_TIMEOUT_S_MAX ? seconds * 1_000 : null;
}
