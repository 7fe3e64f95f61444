/** Responses as a wire format. */
import { nowS } from '../../core/time.ts';
import { arrayAt, objectsAt } from '../../lib/json.ts';
import type { PassthroughRequest, WireFormat } from '../format.ts';
import { generatedTexts } from '../generated-text.ts';
import type { Change } from '../json/edit.ts';
import type { PassthroughFormat } from '../passthrough/passthrough.ts';
import { hostedCall } from '../reported-terms.ts';
import { rewrittenAnswers } from '../rewritten-answers.ts';
import { placeholderUsage } from '../translate/answer-writing.ts';
import { ENCRYPTED_REASONING, echoedRequest } from './answer-state.ts';
import { responsesFailureFrames } from './failure.ts';
import { fillMissingFieldsLane } from './fill-missing-fields.ts';
import { responsesFromTurn } from './from-turn.ts';
import { ResponsesLengthEnding } from './length-ending.ts';
import { ResponsesObserver, type ResponsesObserverOptions } from './observe.ts';
import { responsesOptionalFields } from './optional-fields.ts';
import { readResponsesBody } from './read-body.ts';
import { ResponsesReader } from './reader.ts';
import { textsBesideOutput } from './text-beside-output.ts';
import { responsesToTurn } from './to-turn.ts';
import { readResponsesTerms, readResponsesTokens, writeResponsesTokens } from './tokens.ts';
import { validateResponses } from './validate-request.ts';
import { writeResponsesBody } from './write-body.ts';
import { ResponsesWriter } from './writer.ts';

const passthrough: PassthroughFormat = {
  changes(request, order) {
    const { body } = request;
    const changes: Change[] = [];
    if (body.max_output_tokens !== order.outputLimit) {
      changes.push({ path: ['max_output_tokens'], json: String(order.outputLimit) });
    }
    if (!request.storesResponses && body.store !== false) changes.push({ path: ['store'], json: 'false' });
    if (request.wantsEncrypted?.(order.upstreamModel)) {
      const include = [...(arrayAt(body, 'include') ?? []), ENCRYPTED_REASONING];
      changes.push({ path: ['include'], json: JSON.stringify(include) });
    }
    return changes;
  },
  isAnswer: (answer) => answer.object === 'response' && Array.isArray(answer.output) && answer.status !== 'failed',
  texts: (answer) => [...generatedTexts(answer.output), ...textsBesideOutput(answer)],
  readTokens: readResponsesTokens,
  readTerms: readResponsesTerms,
  calls: (answer) => objectsAt(answer, 'output').map((item) => hostedCall('responses', item)),
  observer: (request, outputLimit) => new ResponsesObserver(completionOf(request, outputLimit)),
  lengthEnding: (request, outputLimit) =>
    new ResponsesLengthEnding(rewrittenAnswers(responsesFormat, request, () => outputLimit).stream()),
};

export const responsesFormat: WireFormat = {
  name: 'responses',
  inputField: 'input',
  takenStopSequences: () => [],
  explainsRefusals: false,
  optionalFields: responsesOptionalFields,
  validateRequest: validateResponses,
  passthrough: (request) =>
    fillMissingFieldsLane(request, passthrough, {
      completion: (outputLimit) => completionOf(request, outputLimit),
      rewrite: (outputLimit) => rewrittenAnswers(responsesFormat, request, () => outputLimit),
    }),
  failureFrames: responsesFailureFrames,
  keepAlive: Buffer.from(': keep-alive\n\n'),
  outputLimitField: () => 'max_output_tokens',
  asksForUsage: () => true,
  toTurn: responsesToTurn,
  fromTurn: responsesFromTurn,
  reader: () => new ResponsesReader(),
  readBody: readResponsesBody,
  writer: (context) => new ResponsesWriter(context),
  writeBody: writeResponsesBody,
  writeTokens: writeResponsesTokens,
};

function completionOf(
  { body, publicModel, likelyInputTokens, tokensMax, state }: PassthroughRequest,
  outputLimit: number | null,
): ResponsesObserverOptions {
  return {
    request: echoedRequest(body, state),
    publicModel,
    state,
    outputLimit,
    tokensMax,
    nowS,
    placeholderUsage: (outputBytes) =>
      writeResponsesTokens(placeholderUsage({ likelyInputTokens: likelyInputTokens ?? (() => 0) }, outputBytes)),
  };
}
