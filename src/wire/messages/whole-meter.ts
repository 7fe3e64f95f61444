/** Meters a whole message. */
import { isObject, type JsonObject, objectsAt } from '../../lib/json.ts';
import { bytesOf, generatedTexts } from '../generated-text.ts';
import type { Meter } from '../lane.ts';
import { hostedCall, TermsReport } from '../reported-terms.ts';
import { ReportedUsage } from '../reported-usage.ts';
import { readMessagesTerms, readMessagesTokens } from './tokens.ts';

export function isMessagesAnswer(answer: JsonObject): boolean {
  return answer.type === 'message' && Array.isArray(answer.content);
}

export function messagesAnswerTexts(answer: JsonObject): Iterable<string> {
  return generatedTexts(answer.content);
}

export function messagesWholeMeter(answer: JsonObject, tokensMax?: () => number): Meter {
  const outputBytes = bytesOf(messagesAnswerTexts(answer));
  const terms = new TermsReport();
  terms.take(readMessagesTerms(answer.usage));
  for (const block of objectsAt(answer, 'content')) terms.called(hostedCall('messages', block));
  const usage = new ReportedUsage(tokensMax);
  if (isObject(answer.usage)) usage.take(readMessagesTokens(answer.usage), true, outputBytes, terms.anyCalls);
  return { ...usage.members(), outputBytes, ...terms.member() };
}
