/** Hosted tools of a request, as they are sent to one provider: within the calls that the hold carries, or left out. */
import { GatewayError } from '../core/conditions.ts';
import type { Format } from '../core/endpoints.ts';
import type { Model } from '../core/model.ts';
import type { HostedToolPrice, Pricing } from '../core/money.ts';
import { callsWithinHold, hostedToolOf } from '../core/price-terms.ts';
import { arrayAt, type Json, type JsonObject, objectAt, stringAt } from '../lib/json.ts';
import type { HostedTool } from '../wire/format.ts';
import { change, type Replacement, replaceValues } from '../wire/json/edit.ts';
import { type ParsedBody, parseBody } from '../wire/json/parse-request.ts';

/** Tools of the messages format that take a bound of their calls. */
const TAKES_MAX_USES = /^(?:web_search|web_fetch|advisor)_/;

export interface HostedToolContext {
  readonly format: Format;
  readonly pricing: Pricing;
  /** The name of the provider that the request would be sent to. */
  readonly provider: string;
  /** The model of this id. Throws `GatewayError` naming `param` where the key may not use it. */
  readonly usableModel: (id: string, param: string) => Model;
}

/** Throws `GatewayError('invalid_request')` where a tool that has no price cannot be left out. */
export function withHostedTools(
  request: ParsedBody,
  hosted: readonly HostedTool[],
  unpriced: readonly HostedTool[],
  context: HostedToolContext,
): ParsedBody {
  if (hosted.length === 0) return request;
  const sent = withoutTools(asSent(request, hosted, context), unpriced);
  if (context.format !== 'responses') return sent;
  const types = hosted.map(({ type }) => type);
  const most = callsWithinHold(context.pricing, context.provider, types);
  const asked = sent.body.max_tool_calls;
  if (most === null || (typeof asked === 'number' && asked <= most)) return sent;
  return withMember(sent, 'max_tool_calls', most);
}

/** Each tool with the bound of its calls and the provider's names of its models, wherever it is declared. */
function asSent(request: ParsedBody, hosted: readonly HostedTool[], context: HostedToolContext): ParsedBody {
  const prices = hosted.map(({ type }) => hostedToolOf(context.pricing, context.provider, type));
  const replacements: Replacement[] = [];
  for (const [index, { type, param, tool }] of hosted.entries()) {
    const price = prices[index] ?? null;
    if (price === null || tool === undefined) continue;
    let sent = withUpstreamModels(tool, param, context);
    if (context.format === 'messages' && TAKES_MAX_USES.test(type)) {
      const declarations = hosted.filter((one, at) => prices[at] === price && TAKES_MAX_USES.test(one.type)).length;
      sent = withMaxUses(sent, param, price, declarations);
    }
    if (sent !== tool) replacements.push({ path: stepsOf(param), json: JSON.stringify(sent) });
  }
  return replacements.length === 0 ? request : parseBody(replaceValues(request.bytes, replacements, request.layout));
}

/** The most calls of one request are shared by all declarations; a client's own lower bound stays. Chat has no such field. */
function withMaxUses(tool: JsonObject, param: string, price: HostedToolPrice, declarations: number): JsonObject {
  const most = Math.floor(price.maxCalls / declarations);
  if (most === 0) {
    throw new GatewayError('invalid_request', {
      message: `${param}: the tool is declared ${declarations} times, and may be called ${price.maxCalls} times.`,
      param,
    });
  }
  return typeof tool.max_uses === 'number' && tool.max_uses <= most ? tool : { ...tool, max_uses: most };
}

/** A tool that asks a model (`advisor_…`, `image_generation`) asks one that the key may use, at the same provider. */
function withUpstreamModels(tool: JsonObject, param: string, context: HostedToolContext): JsonObject {
  const svg = objectAt(tool, 'svg');
  const own = withUpstreamModel(tool, param, context);
  const inner = svg && withUpstreamModel(svg, `${param}.svg`, context);
  return inner === svg ? own : { ...own, svg: inner };
}

function withUpstreamModel(holder: JsonObject, at: string, context: HostedToolContext): JsonObject {
  const id = stringAt(holder, 'model');
  if (id === undefined) return holder;
  const param = `${at}.model`;
  const { targets } = context.usableModel(id, param);
  const target = targets.find(({ provider }) => provider === context.provider);
  if (target === undefined) {
    throw new GatewayError('invalid_request', {
      message: `${param}: the provider that answers does not serve this model.`,
      param,
    });
  }
  return target.upstreamModel === id ? holder : { ...holder, model: target.upstreamModel };
}

/**
 * The request without hosted tools that the provider would run and that have no configured price. Only members of
 * `tools` can be left out, and only while others remain.
 */
function withoutTools(request: ParsedBody, unpriced: readonly HostedTool[]): ParsedBody {
  const [first] = unpriced;
  if (first === undefined) return request;
  const left = new Set(unpriced.map(({ param }) => param));
  const tools = (arrayAt(request.body, 'tools') ?? []).filter((_, index) => !left.delete(`tools[${index}]`));
  const refused = tools.length === 0 ? first : unpriced.find(({ param }) => left.has(param));
  if (refused) {
    throw new GatewayError('invalid_request', {
      message: `The hosted tool type ${JSON.stringify(refused.type)} has no configured price here.`,
      param: refused.param,
    });
  }
  return withMember(request, 'tools', tools);
}

function withMember({ bytes, layout }: ParsedBody, name: string, value: Json): ParsedBody {
  return parseBody(change(bytes, [{ path: [name], json: JSON.stringify(value) }], layout));
}

/** `tools[0].svg` → `tools`, 0, `svg`. The names on the way to a declaration are the formats' own. */
function stepsOf(param: string): (string | number)[] {
  return param.split(/[.[\]]+/).flatMap((step) => (step === '' ? [] : [/^\d/.test(step) ? Number(step) : step]));
}
