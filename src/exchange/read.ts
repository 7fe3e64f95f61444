/** Body bytes → a valid request, or the refusal that the body has earned, as a value. */
import { GatewayError } from '../core/conditions.ts';
import type { Model } from '../core/model.ts';
import type { Limits } from '../core/policy.ts';
import type { Catalog } from '../core/provider.ts';
import type { RequestRecord } from '../core/request-record.ts';
import { NO_COST_FIELDS, readCostFields } from '../wire/cost-fields.ts';
import { FORMATS } from '../wire/formats.ts';
import { change } from '../wire/json/edit.ts';
import { omitNulls } from '../wire/json/omit-nulls.ts';
import { type ParsedBody, parseBody } from '../wire/json/parse-request.ts';
import { validateCountRequest } from '../wire/messages/validate-request.ts';
import type { ExpandedRequest } from './expand-references.ts';
import { withDefaults } from './model-defaults.ts';
import type { GenerationRequest, ReadRequest } from './request.ts';

/**
 * `expand` puts what a responses request refers to into its place; without it, references are refused. `models`: those with
 * default parameters, null where there are none.
 */
export async function readRequest(
  request: GenerationRequest,
  { bodyBytes, jsonValues }: Pick<Limits, 'bodyBytes' | 'jsonValues'>,
  expand?: (request: ParsedBody) => Promise<ExpandedRequest>,
  models: ReadonlyMap<string, Model> | null = null,
): Promise<ReadRequest> {
  const received = await request.readBody(bodyBytes);
  if (received instanceof GatewayError) return received;
  request.record.received(received);
  try {
    const format = FORMATS[request.endpoint.format];
    const header = request.headers.get('anthropic-beta');
    const betas = header !== null;
    if (request.endpoint.name === 'count_tokens') {
      const counted = omitNulls(onlyCounted(parseBody(received, jsonValues)), format.optionalFields);
      return { ...counted, info: validateCountRequest(counted.body, { betas }), costFields: NO_COST_FIELDS };
    }
    const said = omitNulls(parseBody(received, jsonValues), format.optionalFields);
    const parsed = models === null ? said : withDefaults(said, format.name, models);
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

export function noteRead(record: RequestRecord, catalog: Catalog, read: ReadRequest): void {
  if (read instanceof GatewayError) return;
  const { model, stream } = read.info;
  record.read(model, catalog.models.has(model), stream);
}

/** The fields that the public counter documents. All others belong to generation, and are neither judged nor sent. */
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
