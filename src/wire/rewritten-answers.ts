/**
 * Answers of a target of the client's own format that are read and rewritten, so that they can be completed or ended at
 * any point. The request passes as it is, so nothing that the target knows is lost.
 */
import { type AnswerOptions, type Answers, answersThrough } from './answers.ts';
import type { PassthroughRequest, WireFormat } from './format.ts';
import { sameToolNames } from './translate/tool-names.ts';

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
