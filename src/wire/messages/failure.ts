/** The in-band report of a messages stream that failed after it had started. */
import type { InBandFailure } from '../format.ts';

/** An `error` event with the Format B envelope. */
export function messagesFailureFrames(failure: InBandFailure): Buffer {
  const envelope = {
    type: 'error',
    error: {
      type: failure.typeB,
      message: failure.message,
      code: failure.code,
      request_id: failure.requestId,
    },
    request_id: failure.requestId,
  };
  return Buffer.from(`event: error\ndata: ${JSON.stringify(envelope)}\n\n`);
}
