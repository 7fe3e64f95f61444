/** The hub → a chat-completions request. */

import { compact } from '../../lib/json.ts';
import { refuse } from '../errors.ts';
import { documentText, urlOfSource } from '../translate/data-url.ts';
import { effortOf, plainSettings, writeUser } from '../translate/settings.ts';
import { takenByChat } from '../translate/stop-sequences.ts';
import type { ToolNames } from '../translate/tool-names.ts';
import {
  bareText,
  functionArguments,
  functionDescription,
  functionSchema,
  groupToolResults,
  leaveOut,
  leaveOutFile,
  markError,
  openaiStrict,
  refuseEmptyInput,
  usableTools,
  type WriteContext,
  warnOfExtras,
} from '../translate/tools.ts';
import type {
  CacheBreakpoint,
  ClientTool,
  FilePart,
  ForeignTool,
  ImagePart,
  OutputShape,
  Part,
  TargetTraits,
  TextPart,
  ToolCallPart,
  ToolChoice,
  ToolResultPart,
  Turn,
  TurnMessage,
  WrittenTurn,
} from '../translate/turn.ts';

export function chatFromTurn(turn: Turn, traits: TargetTraits, names: ToolNames): WrittenTurn {
  const warnings = [...turn.warnings];
  const writing: WriteContext = { turn, names, warnings, native: turn.origin === 'chat' };
  const tools = usableTools(turn, warnings);
  const messages = [...writeInstructions(turn), ...writeMessages(writing)];
  if (messages.length === 0) refuseEmptyInput(turn);
  const body = compact({
    messages,
    tools: tools.length > 0 ? tools.map((tool) => writeTool(tool, writing)) : undefined,
    tool_choice: tools.length > 0 && turn.toolChoice ? writeToolChoice(turn.toolChoice, writing) : undefined,
    parallel_tool_calls: tools.length > 0 ? turn.settings.parallelToolCalls : undefined,
    ...writeSettings(writing, traits),
    stream: turn.stream ? true : undefined,
    stream_options: turn.stream ? { include_usage: true } : undefined,
  });
  return { body, warnings };
}

function writeInstructions(turn: Turn): readonly unknown[] {
  if (turn.instructions.length === 0) return [];
  return [{ role: 'system', content: writeTexts(turn.instructions) }];
}

function writeMessages(writing: WriteContext): readonly unknown[] {
  const { turn, native } = writing;
  const out: unknown[] = [];
  // The user's text next to tool results, and the images of results, follow after all results.
  let held: Part[] = [];
  const say = (role: string, parts: readonly Part[], name?: string): void => {
    const content = writeContent(parts, writing);
    // Everything in it may have been left out.
    if (parts.length === 0 || content !== '' || parts.some(({ type }) => type !== 'opaque')) {
      out.push(compact({ role, content, name }));
    }
  };
  const release = (): void => {
    if (held.length > 0) say('user', held);
    held = [];
  };
  for (const message of native ? turn.messages : groupToolResults(turn.messages)) {
    const results = message.parts.filter((part) => part.type === 'tool-result');
    if (results.length > 0) {
      for (const result of results) {
        out.push({ role: 'tool', tool_call_id: result.callId, content: writeResult(result) });
        held.push(...attachments(result));
      }
      held.push(...message.parts.filter((part) => part.type !== 'tool-result'));
      continue;
    }
    release();
    if (message.role === 'assistant') {
      out.push(...writeAssistant(message, writing));
      continue;
    }
    say(native || message.role === 'user' ? message.role : 'system', message.parts, message.name);
  }
  release();
  return out;
}

/** A tool message of the format holds text only. */
function attachments(result: ToolResultPart): readonly Part[] {
  const media = result.content.filter(({ type }) => type === 'image' || type === 'file');
  const unknown = result.content.filter(({ type }) => type === 'opaque');
  if (media.length === 0) return unknown;
  return [{ type: 'text', text: `Attached to the result of ${result.callId}:` }, ...media, ...unknown];
}

function writeResult(result: ToolResultPart): unknown {
  const texts = result.content.filter((part): part is TextPart => part.type === 'text');
  const [first, ...more] = texts;
  if (!first) return markError(result, result.content.length > 0 ? 'See the attachment below.' : '');
  return writeTexts([{ ...first, text: markError(result, first.text) }, ...more]);
}

function writeAssistant(message: TurnMessage, writing: WriteContext): readonly unknown[] {
  const texts: TextPart[] = [];
  const calls: ToolCallPart[] = [];
  let refusal: string | undefined;
  let reasoning: string | undefined;
  for (const part of message.parts) {
    if (part.type === 'text') texts.push(part);
    else if (part.type === 'tool-call') calls.push(part);
    else if (part.type === 'refusal') refusal = (refusal ?? '') + part.text;
    else if (part.type === 'opaque') leaveOut(part, writing.warnings);
    else if (part.type === 'reasoning') {
      if (part.reasoning.origin === 'chat' && writing.native) reasoning = part.reasoning.texts.join('\n\n');
    } else refuse(message.at, `An assistant message cannot hold "${part.type}" for this model.`);
  }
  if (texts.length === 0 && calls.length === 0 && refusal === undefined && !writing.native) return [];
  return [
    compact({
      role: 'assistant',
      content: texts.length === 0 ? null : writing.native ? writeTexts(texts) : joinTexts(texts),
      refusal,
      reasoning_content: reasoning,
      tool_calls: calls.length > 0 ? calls.map((call) => writeCall(call, writing)) : undefined,
      name: message.name,
    }),
  ];
}

/** Blocks of one text follow each other without a gap; items of their own are paragraphs. */
function joinTexts(texts: readonly TextPart[]): string {
  let out = '';
  for (const [index, part] of texts.entries()) {
    const before = texts[index - 1];
    out += before && before.itemId !== part.itemId ? `\n\n${part.text}` : part.text;
  }
  return out;
}

function writeCall(call: ToolCallPart, writing: WriteContext): unknown {
  const name = writing.names.out(call.tool);
  if (writing.native && call.tool.kind === 'custom') {
    return { id: call.callId, type: 'custom', custom: { name, input: call.input } };
  }
  const args = writing.native ? call.input : functionArguments(call);
  return { id: call.callId, type: 'function', function: { name, arguments: args } };
}

function writeContent(parts: readonly Part[], writing: WriteContext): unknown {
  const written = parts.flatMap((part) => writePart(part, writing));
  return bareText(written) ?? (written.length === 0 ? '' : written);
}

function writeTexts(parts: readonly TextPart[]): unknown {
  const written = parts.map(writeText);
  return bareText(written) ?? written;
}

function writeText(part: TextPart): object {
  return compact({ type: 'text', text: part.text, prompt_cache_breakpoint: openaiBreakpoint(part.cache) });
}

function writePart(part: Part, writing: WriteContext): readonly object[] {
  if (part.type === 'text') return [writeText(part)];
  if (part.type === 'image') return [writeImage(part)];
  if (part.type === 'file') return writeFile(part, writing.warnings);
  if (part.type === 'refusal') return [{ type: 'refusal', refusal: part.text }];
  if (part.type === 'opaque') {
    if (part.format === 'chat') return [part.raw];
    leaveOut(part, writing.warnings);
  }
  return [];
}

function writeImage(part: ImagePart): object {
  if (part.source.kind === 'stored') refuse(part.at, 'Files stored at a provider cannot be used with this model.');
  return compact({
    type: 'image_url',
    image_url: compact({ url: urlOfSource(part.source), detail: part.detail }),
    prompt_cache_breakpoint: openaiBreakpoint(part.cache),
  });
}

function writeFile(part: FilePart, warnings: string[]): readonly object[] {
  warnOfExtras(part, warnings);
  const cache = openaiBreakpoint(part.cache);
  if (part.source.kind === 'text') {
    return [compact({ type: 'text', text: documentText(part, part.source.text), prompt_cache_breakpoint: cache })];
  }
  if (part.source.kind === 'stored') refuse(part.at, 'Files stored at a provider cannot be used with this model.');
  if (part.source.kind === 'url') {
    leaveOutFile(part, 'this model takes files as data, not by URL', warnings);
    return [];
  }
  const filename = part.name ?? 'file';
  const file = { filename, file_data: urlOfSource(part.source) };
  return [compact({ type: 'file', file, prompt_cache_breakpoint: cache })];
}

function openaiBreakpoint(cache: CacheBreakpoint | undefined): object | undefined {
  return cache?.family === 'openai' ? cache.raw : undefined;
}

function writeTool(tool: ClientTool | ForeignTool, writing: WriteContext): unknown {
  if (tool.kind === 'foreign') return tool.raw;
  const name = writing.names.out(tool);
  if (writing.native && tool.kind === 'custom') {
    const { type, ...grammar } = tool.grammar ?? {};
    const format = type === 'grammar' ? { type, grammar } : type === undefined ? undefined : { type };
    return { type: 'custom', custom: compact({ name, description: tool.description, format }) };
  }
  const parameters = writing.native ? tool.schema : functionSchema(tool);
  return {
    type: 'function',
    function: compact({
      name,
      description: functionDescription(tool),
      parameters,
      strict: openaiStrict(tool, writing.turn, writing.warnings),
    }),
  };
}

function writeToolChoice(choice: ToolChoice, writing: WriteContext): unknown {
  const ref = (tool: { kind: string; name: string; namespace?: string | undefined }): object => {
    const kind = writing.native && tool.kind === 'custom' ? 'custom' : 'function';
    return { type: kind, [kind]: { name: writing.names.out(tool as ClientTool) } };
  };
  switch (choice.kind) {
    case 'tool':
      return ref(choice.tool);
    case 'allowed':
      return { type: 'allowed_tools', allowed_tools: { mode: choice.mode, tools: choice.tools.map(ref) } };
    case 'foreign':
      return refuse('tool_choice', 'This tool choice is not supported by this model.');
    default:
      return choice.kind;
  }
}

function writeSettings(writing: WriteContext, traits: TargetTraits): object {
  const { settings } = writing.turn;
  const { warnings, native } = writing;
  if (settings.topK !== undefined && !native) warnings.push('top_k: left out, the chat format has no such field');
  return {
    ...plainSettings(writing.turn),
    top_k: native ? settings.topK : undefined,
    stop: writeStop(settings.stop),
    seed: settings.seed,
    frequency_penalty: settings.frequencyPenalty,
    presence_penalty: settings.presencePenalty,
    logit_bias: settings.logitBias,
    logprobs: settings.logprobs,
    top_logprobs: settings.logprobs === true ? settings.topLogprobs : undefined,
    response_format: settings.output && writeOutput(settings.output),
    verbosity: settings.verbosity,
    reasoning_effort: traits.reasoning ? effortOf(writing.turn) : undefined,
    user: writeUser(writing.turn),
    store: native ? settings.store : undefined,
  };
}

function writeStop(stop: readonly string[] = []): readonly string[] | undefined {
  return stop.length === 0 ? undefined : takenByChat(stop);
}

function writeOutput(output: OutputShape): unknown {
  if (output.kind === 'text') return { type: 'text' };
  if (output.kind === 'json') return { type: 'json_object' };
  const { name, description, schema, strict } = output;
  return { type: 'json_schema', json_schema: compact({ name: name ?? 'output', description, schema, strict }) };
}
