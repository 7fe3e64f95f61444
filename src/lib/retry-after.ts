/** A day: whoever asks for longer is asked again all the same. */
const SECONDS_MAX = 86_400;

/** What the header Retry-After says (RFC 9110), in seconds from now: a number of them, or a date; null where it is neither. */
export function retryAfterSeconds(header: string | null, nowMs: number): number | null {
  if (header === null) return null;
  if (/^\d{1,9}$/.test(header)) return Math.min(Number(header), SECONDS_MAX);
  const atMs = Date.parse(header);
  if (Number.isNaN(atMs)) return null;
  return Math.min(Math.max(0, Math.ceil((atMs - nowMs) / 1_000)), SECONDS_MAX);
}
