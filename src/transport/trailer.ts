/**
 * What a trailer must not have: fields that say where a message ends, what becomes of its connection, or whom it is
 * for. Some readers would act on them after the fact.
 */
const HEAD_ONLY = /^(?:content-length|transfer-encoding|connection|upgrade|host)$/i;

/** Whether a field of this name may be in a trailer. */
export function isTrailerName(name: string): boolean {
  return !HEAD_ONLY.test(name);
}
