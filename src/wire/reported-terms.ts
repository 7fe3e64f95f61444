/** Reports of answers beyond their tokens, about how they were made: the tier that served them, hosted calls, token parts. */
import type { Format } from '../core/endpoints.ts';
import { MULTIPLIER_FIELDS, type MultiplierField, type TokenParts } from '../core/money.ts';
import type { ReportedTerms, ToolTokens } from '../core/price-terms.ts';
import { isObject, type Json, type JsonObject, objectAt, stringAt } from '../lib/json.ts';
import { figure } from './usage.ts';

/** Names and values come from the provider and go into the operator's log: longer ones are none. */
const NAME = /^[A-Za-z0-9_.-]{1,64}$/;
/** Counts of calls in usage, by the member that holds them and the end of their names. */
const CALL_COUNTS = [
  ['server_tool_use', '_requests'],
  ['server_side_tool_usage_details', '_calls'],
] as const;
/** Families of OpenAI's `tool_usage`, by the types of their tools. */
const TOOL_USAGE = { web_search: 'web_search', image_generation: 'image_gen' } as const;
/** Output items that the client carries out itself. */
const CLIENT_CALLS = new Set(['function', 'custom_tool', 'computer', 'local_shell', 'apply_patch']);

/** Puts together what the parts of one answer say. One per answer. */
export class TermsReport {
  /** Calls that were seen; a count in a usage report counts instead. */
  #seen: Map<string, number> | null = null;
  #reported: ReportedTerms | null = null;

  /** A later report replaces an earlier one. */
  take(terms: ReportedTerms | null): void {
    if (terms === null) return;
    const before = this.#reported;
    const unusable = [...new Set([...(before?.unusable ?? []), ...(terms.unusable ?? [])])];
    this.#reported = {
      ...before,
      ...terms,
      fields: { ...before?.fields, ...terms.fields },
      calls: { ...before?.calls, ...terms.calls },
      parts: terms.parts ?? before?.parts,
      unusable,
    };
  }

  /** `type`: of a call that the provider has made; null is none. */
  called(type: string | null): void {
    if (type === null || !NAME.test(type)) return;
    this.#seen ??= new Map();
    this.#seen.set(type, (this.#seen.get(type) ?? 0) + 1);
  }

  /** A list that names every call again, whether it was seen before or not. */
  calledInAll(types: readonly (string | null)[]): void {
    const all = new Map<string, number>();
    for (const type of types) if (type !== null && NAME.test(type)) all.set(type, (all.get(type) ?? 0) + 1);
    for (const [type, calls] of all) {
      this.#seen ??= new Map();
      this.#seen.set(type, Math.max(calls, this.#seen.get(type) ?? 0));
    }
  }

  /** Whether the provider says that it has called a hosted tool, or was seen to. */
  get anyCalls(): boolean {
    if (this.#seen !== null) return true;
    return this.#reported !== null && Object.values(this.#reported.calls).some((calls) => calls > 0);
  }

  /** The member of a meter. */
  member(): { terms?: ReportedTerms } {
    if (this.#reported === null && this.#seen === null) return {};
    const reported = this.#reported ?? { fields: {}, calls: {} };
    return { terms: { ...reported, calls: { ...Object.fromEntries(this.#seen ?? []), ...reported.calls } } };
  }
}

/** `holder` has the fields that say how the answer was made. Null where there is nothing to say. */
export function readTerms(
  holder: JsonObject,
  usage: Json | undefined,
  details: { readonly input: string; readonly output: string } | null,
): ReportedTerms | null {
  const unusable: string[] = [];
  const fields = readFields(holder, unusable);
  const counted = isObject(usage) ? usage : {};
  const calls = readCalls(counted, unusable);
  const toolTokens = readToolUsage(holder, calls, unusable);
  const parts = details === null ? undefined : readParts(counted, details, unusable);
  const nothing = Object.keys(fields).length === 0 && Object.keys(calls).length === 0 && parts === undefined;
  if (nothing && toolTokens === undefined && unusable.length === 0) return null;
  return { fields, calls, parts, unusable, ...(toolTokens && { toolTokens }) };
}

function readFields(holder: JsonObject, unusable: string[]): Partial<Record<MultiplierField, string>> {
  const fields: Partial<Record<MultiplierField, string>> = {};
  for (const field of MULTIPLIER_FIELDS) {
    const value = holder[field];
    // `auto` says what was asked for, not what came of it.
    if (value === undefined || value === null || value === 'auto') continue;
    if (typeof value === 'string' && NAME.test(value)) fields[field] = value;
    else unusable.push(field);
  }
  return fields;
}

function readCalls(usage: JsonObject, unusable: string[]): Record<string, number> {
  const calls: [type: string, count: number][] = [];
  for (const [holder, ending] of CALL_COUNTS) {
    const counts = usage[holder];
    if (!isObject(counts)) continue;
    for (const name in counts) {
      if (!name.endsWith(ending) || !NAME.test(name)) continue;
      const count = figure(counts[name]);
      if (count === 'insane') unusable.push(`${holder}.${name}`);
      else if (typeof count === 'number') calls.push([name.slice(0, -ending.length), count]);
    }
  }
  return Object.fromEntries(calls);
}

/**
 * OpenAI's count of what it bills for hosted tools: billable searches are put among the calls, where they count instead of
 * the output items; the tokens of images are returned. No tokens say nothing: calls without a record are left out of them.
 */
function readToolUsage(
  holder: JsonObject,
  calls: Record<string, number>,
  unusable: string[],
): Readonly<Record<string, ToolTokens>> | undefined {
  const usage = objectAt(holder, 'tool_usage');
  if (usage === undefined) return undefined;
  const count = (family: string, name: string): number | undefined => {
    const value = figure(objectAt(usage, family)?.[name]);
    if (value === 'insane') unusable.push(`tool_usage.${family}.${name}`);
    return typeof value === 'number' ? value : undefined;
  };
  const searches = count(TOOL_USAGE.web_search, 'num_requests');
  if (searches !== undefined) calls.web_search = searches;
  const input = count(TOOL_USAGE.image_generation, 'input_tokens') ?? 0;
  const output = count(TOOL_USAGE.image_generation, 'output_tokens') ?? 0;
  return input + output === 0 ? undefined : { image_generation: { input, output } };
}

function readParts(
  usage: JsonObject,
  details: { readonly input: string; readonly output: string },
  unusable: string[],
): TokenParts | undefined {
  const part = (holder: string, name: string): number => {
    const count = figure(objectAt(usage, holder)?.[name]);
    if (count === 'insane') unusable.push(`${holder}.${name}`);
    return typeof count === 'number' ? count : 0;
  };
  const parts = {
    inputAudio: part(details.input, 'audio_tokens'),
    inputImage: part(details.input, 'image_tokens'),
    outputAudio: part(details.output, 'audio_tokens'),
    outputImage: part(details.output, 'image_tokens'),
  };
  return parts.inputAudio + parts.inputImage + parts.outputAudio + parts.outputImage === 0 ? undefined : parts;
}

/** The type of the hosted tool that this block or item is a call of; null where it is none that costs anything. */
export function hostedCall(format: Format, raw: JsonObject): string | null {
  const type = stringAt(raw, 'type') ?? '';
  if (format === 'messages') {
    if (type === 'mcp_tool_use') return 'mcp';
    if (type !== 'server_tool_use') return null;
    // One tool, whose calls have the names of what they do.
    return (stringAt(raw, 'name') ?? '').replace(/^(bash|text_editor)_(?=code_execution$)/, '');
  }
  if (format === 'chat' || !type.endsWith('_call') || raw.status === 'failed') return null;
  const tool = type.slice(0, -'_call'.length);
  if (CLIENT_CALLS.has(tool)) return null;
  if (tool === 'tool_search' && raw.execution === 'client') return null;
  if (tool === 'shell' && (objectAt(raw, 'environment')?.type ?? 'local') === 'local') return null;
  // OpenAI's guide to web search says of the action `search` that it incurs a tool call cost, and of `open_page` and
  // `find_in_page` nothing.
  const action = objectAt(raw, 'action')?.type;
  return tool === 'web_search' && action !== undefined && action !== 'search' ? null : tool;
}
