/** The header `traceparent` of W3C Trace Context: which trace a request belongs to, and which span of it sent it. */

interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

/** Version 00 has exactly these 55 characters; a later one may go on after a further dash. */
const TRACEPARENT = /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;
const SAMPLED = 1;

/** Null where it is not valid: the standard says to go on as if there were none. */
export function readTraceparent(text: string | null): TraceParent | null {
  const [, traceId, spanId, flags] = (text !== null && TRACEPARENT.exec(text)) || [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}
