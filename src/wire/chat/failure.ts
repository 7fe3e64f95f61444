/** The in-band report of a chat stream that failed after it had started. */
import type { InBandFailure } from '../format.ts';

/** An error object as the last event; `[DONE]` does not follow. */
export function chatFailureFrames(failure: InBandFailure): Buffer {
  const error = {
    message: failure.message,
    type: failure.type,
    code: failure.code,
    param: null,
    request_id: failure.requestId,
  };
  return Buffer.from(`data: ${JSON.stringify({ error })}\n\n`);
}
