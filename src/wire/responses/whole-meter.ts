/** Meters a whole response. */
import { arrayAt, isObject, type JsonObject } from '../../lib/json.ts';
import { bytesOf, generatedTexts } from '../generated-text.ts';
import type { Meter } from '../lane.ts';
import { hostedCall, TermsReport } from '../reported-terms.ts';
import { readResponsesTerms, readResponsesTokens } from './tokens.ts';

export function isResponsesAnswer(answer: JsonObject): boolean {
  return answer.object === 'response' && Array.isArray(answer.output) && answer.status !== 'failed';
}

export function responsesWholeMeter(answer: JsonObject): Meter {
  const reported = readResponsesTokens(answer.usage);
  const terms = new TermsReport();
  terms.take(readResponsesTerms(answer));
  let outputBytes = 0;
  for (const item of arrayAt(answer, 'output') ?? []) {
    if (!isObject(item)) continue;
    outputBytes += bytesOf(generatedTexts(item));
    terms.called(hostedCall('responses', item));
  }
  return { reported, reportedFinal: reported !== null, outputBytes, ...terms.member() };
}
