/** Checks and meters a whole answer that passes. */
import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../../core/conditions.ts';
import type { ReportedTerms } from '../../core/price-terms.ts';
import type { TokenCounts } from '../../core/usage.ts';
import { isObject, type JsonObject, parseJson } from '../../lib/json.ts';
import type { PassthroughRequest } from '../format.ts';
import { bytesOf } from '../generated-text.ts';
import { checkValues } from '../json/answer-values.ts';
import { change } from '../json/edit.ts';
import { layoutAt } from '../json/scan.ts';
import type { WholeAnswer } from '../lane.ts';
import { sampleOf } from '../output-sample.ts';
import { ReportedUsage } from '../reported-usage.ts';
import { brokenStream, isErrorShape, readFailure } from '../upstream-failure.ts';

/** The parts of a format that are needed to meter an answer. */
export interface AnswerFormat {
  /** Whether this is an answer of the format, and not some other JSON. */
  isAnswer(answer: JsonObject): boolean;
  /** The content of an answer, and what it reports of itself. */
  texts(answer: JsonObject): readonly string[];
  readTokens(usage: JsonObject): TokenCounts | null;
  readTerms(answer: JsonObject): ReportedTerms | null;
  /** The types of the hosted tools that it shows to have been called; null is none. */
  calls(answer: JsonObject, request: PassthroughRequest): Iterable<string | null>;
}

export function wholeAnswer(bytes: Buffer, request: PassthroughRequest, format: AnswerFormat): WholeAnswer {
  const { publicModel } = request;
  checkValues(bytes);
  const text = isUtf8(bytes) ? bytes.toString() : '';
  const answer = parseJson(text);
  if (!isObject(answer)) {
    throw new GatewayError('upstream_error', { message: 'The provider answered with something that is not JSON.' });
  }
  if (!format.isAnswer(answer)) {
    const { condition, message, kept } = isErrorShape(answer)
      ? readFailure(answer, true)
      : brokenStream('The provider answered with something other than an answer.');
    throw new GatewayError(condition, { message, kept });
  }
  const body = answer.model === publicModel ? bytes : renamed(bytes, text, publicModel);
  return { body, ...meterWhole(answer, request, format) };
}

function renamed(bytes: Buffer, text: string, publicModel: string): Buffer {
  // Text with one byte in each character is laid out as its bytes are, which need not be made text once more.
  const layout = text.length === bytes.length ? layoutAt(text, 0) : null;
  return change(bytes, [{ path: ['model'], json: JSON.stringify(publicModel) }], layout ?? undefined);
}

/** Meters a whole answer. */
export function meterWhole(
  answer: JsonObject,
  request: PassthroughRequest,
  format: AnswerFormat,
): Pick<WholeAnswer, 'meter' | 'sample'> {
  const outputBytes = bytesOf(format.texts(answer));
  const reported = new ReportedUsage(request.tokensMax);
  reported.terms.take(format.readTerms(answer));
  for (const type of format.calls(answer, request)) reported.terms.called(type);
  if (isObject(answer.usage)) reported.take(format.readTokens(answer.usage), true, outputBytes);
  const meter = reported.meter(outputBytes);
  return { meter, sample: meter.reportedFinal ? null : sampleOf(format.texts(answer)) };
}
