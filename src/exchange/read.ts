/** Body bytes → a valid request, or the refusal that the body has earned, as a value. */
import { GatewayError } from '../core/conditions.ts';
import { readCostFields } from '../wire/cost-fields.ts';
import { FORMATS } from '../wire/formats.ts';
import { omitNulls } from '../wire/json/omit-nulls.ts';
import { parseBody } from '../wire/json/parse-request.ts';
import type { GenerationRequest, ReadRequest } from './request.ts';

export async function readRequest(request: GenerationRequest, limitBytes: number): Promise<ReadRequest> {
  const received = await request.readBody(limitBytes);
  if (received instanceof GatewayError) return received;
  try {
    const format = FORMATS[request.endpoint.format];
    const parsed = omitNulls(parseBody(received), format.optionalFields);
    const betas = request.headers.get('anthropic-beta');
    const info = format.validateRequest(parsed.body, parsed.bytes, { betas: betas !== null });
    return { ...parsed, info, costFields: readCostFields(parsed, betas) };
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}
