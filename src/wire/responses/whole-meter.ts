/** Meters a whole response. */
import { isObject, type JsonObject, objectsAt } from '../../lib/json.ts';
import { bytesOf, generatedTexts } from '../generated-text.ts';
import type { Meter } from '../lane.ts';
import { hostedCall, TermsReport } from '../reported-terms.ts';
import { ReportedUsage } from '../reported-usage.ts';
import { readResponsesTerms, readResponsesTokens } from './tokens.ts';

export function isResponsesAnswer(answer: JsonObject): boolean {
  return answer.object === 'response' && Array.isArray(answer.output) && answer.status !== 'failed';
}

export function responsesAnswerTexts(answer: JsonObject): Iterable<string> {
  return generatedTexts(answer.output);
}

export function responsesWholeMeter(answer: JsonObject, tokensMax?: () => number): Meter {
  const outputBytes = bytesOf(responsesAnswerTexts(answer));
  const terms = new TermsReport();
  terms.take(readResponsesTerms(answer));
  for (const item of objectsAt(answer, 'output')) terms.called(hostedCall('responses', item));
  const usage = new ReportedUsage(tokensMax);
  if (isObject(answer.usage)) usage.take(readResponsesTokens(answer.usage), true, outputBytes, terms.anyCalls);
  return { ...usage.members(), outputBytes, ...terms.member() };
}
