/** The hub → a responses request. */
import { compact, type JsonObject, parseJson } from '../../lib/json.ts';
import { refuse } from '../errors.ts';
import { documentText, urlOfSource } from '../translate/data-url.ts';
import { effortOf, plainSettings, writeUser } from '../translate/settings.ts';
import type { ToolNames } from '../translate/tool-names.ts';
import {
  bareText,
  functionArguments,
  leaveOut,
  markError,
  usableTools,
  type WriteContext,
  warnOfExtras,
} from '../translate/tools.ts';
import type {
  FilePart,
  ImagePart,
  OutputShape,
  Part,
  ReasoningBlock,
  RefusalPart,
  TargetTraits,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  Turn,
  TurnMessage,
  WrittenTurn,
} from '../translate/turn.ts';
import { writeToolChoice, writeTools } from './tools.ts';

interface ExtendedContext extends WriteContext {
  /** Whether settings and cache breakpoints that the format has no field for are taken. */
  readonly extended: boolean;
}

export function responsesFromTurn(turn: Turn, traits: TargetTraits, names: ToolNames): WrittenTurn {
  const warnings = [...turn.warnings];
  const writing: ExtendedContext = {
    turn,
    names,
    warnings,
    native: turn.origin === 'responses',
    extended: traits.extended === true,
  };
  const tools = usableTools(turn, warnings);
  const [first, ...more] = turn.instructions;
  const single = first && more.length === 0 && !breakpointOf(first, writing) ? first.text : undefined;
  const input = turn.messages.flatMap((message) => writeMessage(message, writing));
  if (first && single === undefined) input.unshift(...messageItems('developer', turn.instructions, writing));
  const body = compact({
    instructions: single,
    input,
    tools: tools.length > 0 ? writeTools(turn, tools, names, warnings) : undefined,
    tool_choice:
      tools.length > 0 && turn.toolChoice ? writeToolChoice(turn.toolChoice, names, writing.native) : undefined,
    parallel_tool_calls: tools.length > 0 ? turn.settings.parallelToolCalls : undefined,
    ...writeSettings(writing, traits),
    stream: turn.stream ? true : undefined,
  });
  return { body, warnings };
}

/** None where everything in it is left out. */
function messageItems(role: string, parts: readonly Part[], writing: ExtendedContext): object[] {
  const content = parts.flatMap((part) => writeInputPart(part, writing));
  if (content.length === 0 && parts.length > 0) return [];
  return [{ type: 'message', role, content: bareText(content) ?? content }];
}

function writeMessage(message: TurnMessage, writing: ExtendedContext): object[] {
  if (message.name !== undefined) writing.warnings.push(`${message.at}.name: left out`);
  if (message.role === 'assistant') return writeAnswer(message, writing);
  const items: object[] = [];
  const rest: Part[] = [];
  for (const part of message.parts) {
    if (part.type === 'tool-result') items.push(writeResult(part, writing));
    else rest.push(part);
  }
  if (rest.length > 0 || items.length === 0) items.push(...messageItems(message.role, rest, writing));
  return items;
}

/** Neighbouring texts of one item are one message item; every other part is an item of its own. */
function writeAnswer(message: TurnMessage, writing: ExtendedContext): object[] {
  const items: object[] = [];
  let open: { itemId: string | undefined; content: object[] } | null = null;
  for (const part of message.parts) {
    if (part.type === 'text' || part.type === 'refusal') {
      if (!open || open.itemId !== part.itemId) {
        open = { itemId: part.itemId, content: [] };
        const id = part.itemId?.startsWith('msg_') ? part.itemId : undefined;
        const status = id === undefined ? undefined : 'completed';
        items.push(compact({ type: 'message', role: 'assistant', id, status, content: open.content }));
      }
      open.content.push(writeAnswerText(part));
      continue;
    }
    open = null;
    if (part.type === 'tool-call') items.push(writeCall(part, writing));
    else if (part.type === 'reasoning') items.push(...writeReasoningBlock(part.reasoning, writing));
    else if (part.type === 'opaque') {
      if (part.format === 'responses') items.push(part.raw);
      else leaveOut(part, writing.warnings);
    } else refuse(message.at, `An assistant message cannot hold "${part.type}" for this model.`);
  }
  return items;
}

function writeAnswerText(part: TextPart | RefusalPart): object {
  if (part.type === 'refusal') return { type: 'refusal', refusal: part.text };
  const annotations = (part.annotations ?? []).filter((one) => one.format === 'responses').map((one) => one.raw);
  return { type: 'output_text', text: part.text, annotations };
}

/** A provider accepts only reasoning that it encrypted itself; other reasoning is left out. */
function writeReasoningBlock(reasoning: ReasoningBlock, writing: ExtendedContext): object[] {
  if (reasoning.origin !== 'responses' || (reasoning.encrypted === undefined && !writing.native)) return [];
  return [
    compact({
      type: 'reasoning',
      id: reasoning.id,
      summary: reasoning.texts.map((text) => ({ type: 'summary_text', text })),
      content: reasoning.full?.map((text) => ({ type: 'reasoning_text', text })),
      encrypted_content: reasoning.encrypted,
    }),
  ];
}

function writeCall(call: ToolCallPart, writing: ExtendedContext): object {
  const { native, names } = writing;
  const { kind } = call.tool;
  const name = names.out(call.tool);
  const namespace = native ? call.tool.namespace : undefined;
  const id = native ? call.itemId : undefined;
  if (kind === 'custom') {
    return compact({ type: 'custom_tool_call', id, call_id: call.callId, name, namespace, input: call.input });
  }
  if (kind === 'search' && native) {
    const args = parseJson(call.input) ?? {};
    return compact({ type: 'tool_search_call', id, call_id: call.callId, execution: 'client', arguments: args });
  }
  const args = native ? call.input : functionArguments(call);
  return compact({ type: 'function_call', id, call_id: call.callId, name, namespace, arguments: args });
}

function writeResult(result: ToolResultPart, writing: ExtendedContext): object {
  if (result.kind === 'search' && writing.native) {
    const [found] = result.content;
    const tools = found?.type === 'text' ? parseJson(found.text) : [];
    return { type: 'tool_search_output', call_id: result.callId, execution: 'client', status: 'completed', tools };
  }
  const [first, ...rest] = result.content;
  const content =
    first?.type === 'text' ? [{ ...first, text: markError(result, first.text) }, ...rest] : result.content;
  const marked =
    result.isError && first?.type !== 'text' ? [{ type: 'text', text: 'Error' } as const, ...content] : content;
  const breakpoint = breakpointOf(result, writing);
  const written = marked
    .map((part, index) => (breakpoint && index === marked.length - 1 ? { ...part, cache: result.cache } : part))
    .flatMap((part) => writeInputPart(part, writing));
  return {
    type: result.kind === 'custom' ? 'custom_tool_call_output' : 'function_call_output',
    call_id: result.callId,
    output: bareText(written) ?? (written.length === 0 ? '' : written),
  };
}

function breakpointOf(part: Part, { extended }: ExtendedContext): JsonObject | undefined {
  if (!('cache' in part) || !part.cache) return undefined;
  return extended || part.cache.family === 'openai' ? part.cache.raw : undefined;
}

function writeInputPart(part: Part, writing: ExtendedContext): object[] {
  const breakpoint = breakpointOf(part, writing);
  if (part.type === 'text')
    return [compact({ type: 'input_text', text: part.text, prompt_cache_breakpoint: breakpoint })];
  if (part.type === 'image') return [writeImage(part, breakpoint, writing)];
  if (part.type === 'file') return [writeFile(part, breakpoint, writing)];
  if (part.type === 'opaque') {
    if (part.format === 'responses') return [part.raw];
    leaveOut(part, writing.warnings);
  }
  return [];
}

function writeImage(part: ImagePart, breakpoint: object | undefined, writing: ExtendedContext): object {
  const { source } = part;
  const common = { detail: part.detail ?? 'auto', prompt_cache_breakpoint: breakpoint };
  if (source.kind !== 'stored') return compact({ type: 'input_image', image_url: urlOfSource(source), ...common });
  if (!writing.native) refuse(part.at, 'Files stored at a provider cannot be used with this model.');
  return compact({ type: 'input_image', file_id: source.id, ...common });
}

function writeFile(part: FilePart, breakpoint: object | undefined, writing: ExtendedContext): object {
  warnOfExtras(part, writing.warnings);
  const { source } = part;
  const common = { filename: part.name, prompt_cache_breakpoint: breakpoint };
  if (source.kind === 'text') {
    return compact({ type: 'input_text', text: documentText(part, source.text), prompt_cache_breakpoint: breakpoint });
  }
  if (source.kind === 'url') return compact({ type: 'input_file', file_url: source.url, ...common });
  if (source.kind === 'base64') {
    const filename = part.name ?? 'file';
    return compact({ type: 'input_file', file_data: urlOfSource(source), ...common, filename });
  }
  if (!writing.native) refuse(part.at, 'Files stored at a provider cannot be used with this model.');
  return compact({ type: 'input_file', file_id: source.id, ...common });
}

function writeSettings(writing: ExtendedContext, traits: TargetTraits): object {
  const { turn, warnings, native, extended } = writing;
  const { settings } = turn;
  const foreign = {
    top_k: settings.topK,
    seed: settings.seed,
    frequency_penalty: settings.frequencyPenalty,
    presence_penalty: settings.presencePenalty,
    logit_bias: settings.logitBias,
  };
  for (const [name, value] of Object.entries(extended ? {} : foreign)) {
    if (value !== undefined && value !== 0) warnings.push(`${name}: left out, the responses format has no such field`);
  }
  const reasoning = traits.reasoning ? writeReasoning(turn) : undefined;
  const include = [
    ...(reasoning ? ['reasoning.encrypted_content'] : []),
    ...(settings.logprobs === true ? ['message.output_text.logprobs'] : []),
  ];
  const text = compact({
    format: settings.output && writeOutput(settings.output),
    verbosity: settings.verbosity,
  });
  return {
    ...plainSettings(turn),
    ...(extended ? foreign : {}),
    text: Object.keys(text).length > 0 ? text : undefined,
    reasoning,
    include: include.length > 0 ? include : undefined,
    top_logprobs: settings.topLogprobs,
    user: writeUser(turn),
    store: native ? settings.store : false,
  };
}

function writeReasoning(turn: Turn): object | undefined {
  const asked = turn.settings.reasoning;
  if (!asked || asked.thinking === 'disabled') return undefined;
  const shown = turn.origin === 'messages' && asked.thinking !== undefined && asked.display !== 'omitted';
  const reasoning = compact({ effort: effortOf(turn), summary: asked.summary ?? (shown ? 'auto' : undefined) });
  return Object.keys(reasoning).length > 0 ? reasoning : undefined;
}

function writeOutput(output: OutputShape): object {
  if (output.kind === 'text') return { type: 'text' };
  if (output.kind === 'json') return { type: 'json_object' };
  const { name, description, schema, strict } = output;
  return compact({ type: 'json_schema', name: name ?? 'output', description, schema, strict });
}
