/** The in-band report of a responses stream that failed after it had started. */
import { nowS } from '../../core/time.ts';
import { isObject, type Json, type JsonObject } from '../../lib/json.ts';
import type { InBandFailure } from '../format.ts';
import { completeResponse } from './complete.ts';

/**
 * A `response.failed` event: clients act on its `error.code`. Its response repeats what `response.created` said and holds
 * the items that were streamed; an item that was not finished is incomplete.
 */
export function responsesFailureFrames(failure: InBandFailure): Buffer {
  const seen = failure.position?.response() ?? blank(failure);
  const error = {
    code: failure.code,
    message: failure.message,
    type: failure.type,
    param: null,
    request_id: failure.requestId,
  };
  const output = Array.isArray(seen.output) ? seen.output.map(ended) : [];
  const response = {
    ...seen,
    id: seen.id === '' ? `resp_${failure.requestId}` : seen.id,
    status: 'failed',
    completed_at: null,
    incomplete_details: null,
    error,
    output,
    // Only an answer that is complete is kept.
    store: false,
  };
  const event = { type: 'response.failed', sequence_number: failure.position?.nextSequence ?? 0, response };
  return Buffer.from(`event: response.failed\ndata: ${JSON.stringify(event)}\n\n`);
}

export function ended(item: Json): Json {
  return isObject(item) && item.status === 'in_progress' ? { ...item, status: 'incomplete' } : item;
}

/** For a failure of which no lane knows anything. */
function blank({ publicModel }: InBandFailure): JsonObject {
  const context = { request: {}, outputLimit: null, nowS };
  return completeResponse({ id: '', status: 'failed', model: publicModel ?? '' }, context);
}
