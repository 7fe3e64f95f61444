/** The in-band report of a responses stream that failed after it had started. */
import type { InBandFailure } from '../format.ts';

/** A `response.failed` event with a complete response object: clients act on its `error.code`. */
export function responsesFailureFrames(failure: InBandFailure): Buffer {
  const response = {
    id: failure.position?.responseId ?? `resp_${failure.requestId}`,
    object: 'response',
    created_at: failure.position?.createdAtS ?? 0,
    status: 'failed',
    background: false,
    error: {
      code: failure.code,
      message: failure.message,
      type: failure.type,
      param: null,
      request_id: failure.requestId,
    },
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    model: failure.publicModel ?? '',
    output: [],
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: false,
    temperature: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    truncation: 'disabled',
    usage: null,
    user: null,
    metadata: {},
  };
  const event = { type: 'response.failed', sequence_number: failure.position?.nextSequence ?? 0, response };
  return Buffer.from(`event: response.failed\ndata: ${JSON.stringify(event)}\n\n`);
}
