/**
 * The lane to a target of the client's own format whose answers are read and rewritten: the request passes as it is,
 * so nothing that the target knows is lost, and the answer can be completed or ended at any point.
 */
import { type AnswerOptions, type Answers, answersThrough } from './answers.ts';
import { refuse } from './errors.ts';
import type { PassthroughRequest, WireFormat } from './format.ts';
import type { LaneWithWarnings } from './lane.ts';
import { sameToolNames } from './translate/tool-names.ts';

/** Throws `GatewayError('invalid_request')` where the answer could not be written: the hub holds one answer. */
export function rewriteLane(format: WireFormat, request: PassthroughRequest & AnswerOptions): LaneWithWarnings {
  if (request.info.choices > 1) refuse('n', 'n: this model gives one answer per request.');
  const passthrough = format.passthrough(request);
  let sentLimit: number | null = null;
  return {
    kind: 'translate',
    warnings: [],
    requestBody(params) {
      sentLimit = params.outputLimit;
      return passthrough.requestBody(params);
    },
    ...rewrittenAnswers(format, request, () => sentLimit),
  };
}

export function rewrittenAnswers(
  format: WireFormat,
  request: PassthroughRequest & AnswerOptions,
  outputLimit: () => number | null,
): Answers {
  return answersThrough({
    ...request,
    from: format,
    to: format,
    names: sameToolNames,
    stop: [],
    includeUsage: format.asksForUsage(request.body),
    outputLimit,
  });
}
