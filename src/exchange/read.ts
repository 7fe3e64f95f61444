/** Body bytes → a valid request, or the refusal that the body has earned, as a value. */
import { GatewayError } from '../core/conditions.ts';
import { readCostFields } from '../wire/cost-fields.ts';
import { FORMATS } from '../wire/formats.ts';
import { omitNulls } from '../wire/json/omit-nulls.ts';
import { type ParsedBody, parseBody } from '../wire/json/parse-request.ts';
import type { ExpandedRequest } from './expand-references.ts';
import type { GenerationRequest, ReadRequest } from './request.ts';

/** `expand` puts what a responses request refers to into its place; without it, references are refused. */
export async function readRequest(
  request: GenerationRequest,
  limitBytes: number,
  expand?: (request: ParsedBody) => Promise<ExpandedRequest>,
): Promise<ReadRequest> {
  const received = await request.readBody(limitBytes);
  if (received instanceof GatewayError) return received;
  try {
    const format = FORMATS[request.endpoint.format];
    const parsed = omitNulls(parseBody(received), format.optionalFields);
    const header = request.headers.get('anthropic-beta');
    const betas = header !== null;
    if (format.name !== 'responses' || expand === undefined) {
      const info = format.validateRequest(parsed.body, parsed.bytes, { betas });
      return { ...parsed, info, costFields: readCostFields(parsed, header) };
    }
    // Judged as the client wrote it first, so that a refusal names the client's own fields.
    const info = format.validateRequest(parsed.body, parsed.bytes, { betas, references: true });
    const costFields = readCostFields(parsed, header);
    const { request: whole, state } = await expand(parsed);
    if (whole === parsed) return { ...parsed, info, costFields, state };
    const expanded = omitNulls(whole, format.optionalFields);
    return { ...expanded, info: format.validateRequest(expanded.body, expanded.bytes, { betas }), costFields, state };
  } catch (error) {
    if (error instanceof GatewayError && error.condition !== 'service_unavailable') return error;
    throw error;
  }
}
