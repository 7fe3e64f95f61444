/** Body bytes → a valid request, or the refusal that the body has earned, as a value. */
import { GatewayError } from '../core/conditions.ts';
import { type Endpoint, type Format, onlyCounts } from '../core/endpoints.ts';
import type { Model } from '../core/model.ts';
import type { Limits } from '../core/policy.ts';
import type { Catalog } from '../core/provider.ts';
import type { RequestRecord } from '../core/request-record.ts';
import type { Json } from '../lib/json.ts';
import { type CostFields, NO_COST_FIELDS, readCostFields } from '../wire/cost-fields.ts';
import { refuse } from '../wire/errors.ts';
import type { FormatContext, RequestInfo, WireFormat } from '../wire/format.ts';
import { FORMATS } from '../wire/formats.ts';
import { change } from '../wire/json/edit.ts';
import { omitNulls } from '../wire/json/omit-nulls.ts';
import { type ParsedBody, parseBody } from '../wire/json/parse-request.ts';
import { validateCountRequest } from '../wire/messages/validate-request.ts';
import { type Compaction, compactionOf, isTriggered, summaryRequest } from '../wire/responses/compaction.ts';
import { runRequest, withoutBackground } from './background.ts';
import type { Expander } from './expand-request.ts';
import { withDefaults } from './model-defaults.ts';
import type { GenerationRequest, ReadRequest, ValidRequest } from './request.ts';

const NOTHING_MORE = {};

/**
 * `expander` puts what a responses request refers to into its place; without it, references are refused. `models`: those with
 * default parameters, null where there are none. `compactsItself`: whether the providers of a model make the compactions that a
 * response is asked for.
 */
export async function readRequest(
  request: GenerationRequest,
  { bodyBytes, jsonValues }: Pick<Limits, 'bodyBytes' | 'jsonValues'>,
  expander?: Expander,
  models: ReadonlyMap<string, Model> | null = null,
  compactsItself: (model: Json | undefined) => boolean = () => true,
): Promise<ReadRequest> {
  const received = await request.readBody(bodyBytes);
  if (received instanceof GatewayError) return received;
  request.record.received(received);
  try {
    const { format: name, name: endpoint } = request.endpoint;
    const format = FORMATS[name];
    const header = request.headers.get('anthropic-beta');
    const context = { betas: header !== null };
    const parsed = omitNulls(parseBody(received, jsonValues), format.optionalFields);
    if (onlyCounts(endpoint)) return await readCounted(parsed, format, context, expander);
    const answer = compactionAnswer(parsed, endpoint, compactsItself);
    if (answer !== null) return await readCompaction(parsed, format, header, { expander, models, answer });
    const asked = models === null ? parsed : withDefaults(parsed, name, models);
    const run = name === 'responses' && expander !== undefined ? runRequest(asked.body, expander.stores) : null;
    const said = run === null ? asked : withoutBackground(asked);
    if (name !== 'responses' || expander === undefined) {
      const info = format.validateRequest(said.body, said.bytes, context);
      return validRequest(said, info, readCostFields(said, header));
    }
    // Judged as the client wrote it first, so that a refusal names the client's own fields.
    const info = format.validateRequest(said.body, said.bytes, { ...context, references: true });
    const costFields = readCostFields(said, header);
    const { request: whole, state } = await expander.expand(said);
    const made = { state, run: run ?? undefined };
    if (whole === said) return validRequest(said, info, costFields, made);
    const expanded = omitNulls(whole, format.optionalFields);
    return validRequest(expanded, format.validateRequest(expanded.body, expanded.bytes, context), costFields, made);
  } catch (error) {
    if (error instanceof GatewayError && error.condition !== 'service_unavailable') return error;
    throw error;
  }
}

/** Each member by its name: all requests have one shape then. Spread, they took a slow way through V8, 1.1 % of W1 in a profile. */
function validRequest(
  { bytes, received, body, layout }: ParsedBody,
  info: RequestInfo,
  costFields: CostFields,
  { state, compaction, run }: Partial<ValidRequest> = NOTHING_MORE,
): ValidRequest {
  return { bytes, received, body, layout, info, costFields, state, compaction, run };
}

/** What only generation knows is neither judged nor sent, nor what a setting of the answer needs. */
async function readCounted(
  parsed: ParsedBody,
  format: WireFormat,
  context: FormatContext,
  expander: Expander | undefined,
): Promise<ValidRequest> {
  const counted = onlyCounted(parsed, format.name);
  if (format.name === 'messages') {
    return validRequest(counted, validateCountRequest(counted.body, context), NO_COST_FIELDS);
  }
  const said = withInput(counted);
  format.validateRequest(said.body, said.bytes, { ...context, references: true });
  const { request: whole } = (await expander?.expand(said)) ?? { request: said };
  const info = format.validateRequest(whole.body, whole.bytes, context);
  const { reasoning: _, structured_output: __, streaming: ___, ...needs } = info.needs;
  return validRequest(whole, { ...info, needs, stream: false, outputLimit: null }, NO_COST_FIELDS);
}

/** What a compaction that the gateway makes is answered as; null where none is asked for. */
function compactionAnswer(
  { body }: ParsedBody,
  endpoint: Endpoint['name'],
  compactsItself: (model: Json | undefined) => boolean,
): Compaction['answer'] | null {
  if (endpoint === 'compact') return 'compaction';
  if (endpoint !== 'responses' || !isTriggered(body) || compactsItself(body.model)) return null;
  if (body.background === true) {
    refuse(
      'background',
      'background cannot be true where the input ends with compaction_trigger: its client waits for it.',
    );
  }
  return body.stream === true ? 'stream' : 'response';
}

interface CompactionContext {
  readonly expander: Expander | undefined;
  readonly models: ReadonlyMap<string, Model> | null;
  readonly answer: Compaction['answer'];
}

/** The request for a summary of the conversation, made with the model that the client names. */
async function readCompaction(
  parsed: ParsedBody,
  format: WireFormat,
  betas: string | null,
  { expander, models, answer }: CompactionContext,
): Promise<ValidRequest> {
  const context = { betas: betas !== null };
  const said = withInput(parsed);
  format.validateRequest(said.body, said.bytes, { ...context, references: true });
  const costFields = readCostFields(said, betas);
  if (expander === undefined) throw new TypeError('a compaction needs the key that it is made for');
  const { request: whole } = await expander.expand(said);
  const made = parseBody(Buffer.from(JSON.stringify(summaryRequest(whole.body))));
  const asked = models === null ? made : withDefaults(made, format.name, models);
  const info = format.validateRequest(asked.body, asked.bytes, context);
  const compaction = compactionOf(whole.body, { answer, asked: said.body, seal: expander.seal });
  return { ...validRequest(asked, info, costFields, { compaction }), received: parsed.received };
}

/** Both routes take a request whose input is all in the response that it continues. */
function withInput(parsed: ParsedBody): ParsedBody {
  const { input, previous_response_id: previous } = parsed.body;
  if ((input !== undefined && input !== null) || previous === undefined) return parsed;
  const bytes = change(parsed.bytes, [{ path: ['input'], json: '[]' }], parsed.layout);
  return { ...parseBody(bytes), received: parsed.received };
}

/** Who has the newer operations of the responses format, as OpenAI: a count of the input is one of them, too. */
export function compactsItself({ models, providers }: Catalog, model: Json | undefined): boolean {
  const targets = (typeof model === 'string' ? models.get(model)?.targets : undefined) ?? [];
  return targets.every(
    ({ format, provider }) => format === 'responses' && providers.get(provider)?.countsTokens === true,
  );
}

export function noteRead(record: RequestRecord, catalog: Catalog, read: ReadRequest): void {
  if (read instanceof GatewayError) return;
  const { model, stream } = read.info;
  record.read(model, catalog.models.has(model), stream);
}

/** The fields that the public counters document. All others belong to generation, and are neither judged nor sent. */
const COUNTED_FIELDS: Readonly<Record<Format, ReadonlySet<string>>> = {
  chat: new Set(),
  messages: new Set([
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
  ]),
  responses: new Set([
    'model',
    'input',
    'instructions',
    'tools',
    'tool_choice',
    'parallel_tool_calls',
    'previous_response_id',
    'conversation',
    'reasoning',
    'text',
    'truncation',
  ]),
};

function onlyCounted(parsed: ParsedBody, format: Format): ParsedBody {
  const others = parsed.layout.members.filter(({ name }) => !COUNTED_FIELDS[format].has(name));
  if (others.length === 0) return parsed;
  const changes = others.map(({ name }) => ({ path: [name] as const, json: null }));
  return parseBody(change(parsed.bytes, changes, parsed.layout));
}
