/** Body bytes → a valid request, or the refusal that the body has earned, as a value. */
import { GatewayError } from '../core/conditions.ts';
import { NO_COST_FIELDS, readCostFields } from '../wire/cost-fields.ts';
import { FORMATS } from '../wire/formats.ts';
import { change } from '../wire/json/edit.ts';
import { omitNulls } from '../wire/json/omit-nulls.ts';
import { type ParsedBody, parseBody } from '../wire/json/parse-request.ts';
import { validateCountRequest } from '../wire/messages/validate-request.ts';
import type { GenerationRequest, ReadRequest } from './request.ts';

export async function readRequest(request: GenerationRequest, limitBytes: number): Promise<ReadRequest> {
  const received = await request.readBody(limitBytes);
  if (received instanceof GatewayError) return received;
  try {
    const format = FORMATS[request.endpoint.format];
    const betas = request.headers.get('anthropic-beta');
    if (request.endpoint.name === 'count_tokens') {
      const counted = omitNulls(onlyCounted(parseBody(received)), format.optionalFields);
      const info = validateCountRequest(counted.body, { betas: betas !== null });
      return { ...counted, info, costFields: NO_COST_FIELDS };
    }
    const parsed = omitNulls(parseBody(received), format.optionalFields);
    const info = format.validateRequest(parsed.body, parsed.bytes, { betas: betas !== null });
    return { ...parsed, info, costFields: readCostFields(parsed, betas) };
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

/** What the public counter documents. Whatever else a client sends belongs to generation, and is neither judged nor sent. */
const COUNTED_FIELDS: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'thinking',
  'mcp_servers',
  'context_management',
  'compaction',
  'cache_control',
  'output_config',
  'output_format',
]);

function onlyCounted(parsed: ParsedBody): ParsedBody {
  const others = parsed.layout.members.filter(({ name }) => !COUNTED_FIELDS.has(name));
  if (others.length === 0) return parsed;
  const changes = others.map(({ name }) => ({ path: [name] as const, json: null }));
  return parseBody(change(parsed.bytes, changes, parsed.layout));
}
