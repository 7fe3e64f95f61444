/** Meters a whole chat completion. */
import { arrayAt, isObject, type JsonObject, objectAt, objectsAt } from '../../lib/json.ts';
import { bytesOf, chatTexts } from '../generated-text.ts';
import type { Meter } from '../lane.ts';
import { TermsReport } from '../reported-terms.ts';
import { ReportedUsage } from '../reported-usage.ts';
import { readChatTerms, readChatTokens, SEARCH } from './tokens.ts';

export function isChatAnswer(answer: JsonObject): boolean {
  return (arrayAt(answer, 'choices')?.length ?? 0) > 0 && (answer.error === undefined || answer.error === null);
}

export function* chatAnswerTexts(answer: JsonObject): Generator<string> {
  for (const choice of objectsAt(answer, 'choices')) yield* chatTexts(objectAt(choice, 'message') ?? {});
}

export function chatWholeMeter(answer: JsonObject, searches: boolean, tokensMax?: () => number): Meter {
  const outputBytes = bytesOf(chatAnswerTexts(answer));
  const terms = new TermsReport();
  if (searches) terms.called(SEARCH);
  terms.take(readChatTerms(answer));
  const usage = new ReportedUsage(tokensMax);
  if (isObject(answer.usage)) usage.take(readChatTokens(answer.usage), true, outputBytes, terms.anyCalls);
  return { ...usage.members(), outputBytes, ...terms.member() };
}
