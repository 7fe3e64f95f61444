/** Answers as the providers of each format shape them, whole and streamed, made from one description. */
import type { Format } from '../../../src/core/endpoints.ts';
import { inputTokens, type TokenCounts, totalTokens } from '../../../src/core/usage.ts';
import { parseJson } from '../../../src/lib/json.ts';
import { type Citation, chatAnnotations, logprobsOf, messagesCitations, responsesAnnotations } from './text-details.ts';

export type Block =
  | {
      readonly kind: 'text';
      readonly pieces: readonly string[];
      /** Follow the whole text. */
      readonly citations?: readonly Citation[];
      /** Whether each piece is a token with its log probability; the messages format has none. */
      readonly logprobs?: boolean;
    }
  | { readonly kind: 'refusal'; readonly pieces: readonly string[] }
  | { readonly kind: 'thinking'; readonly pieces: readonly string[]; readonly signature: string }
  | { readonly kind: 'redacted'; readonly data: string }
  | {
      readonly kind: 'tool';
      readonly id: string;
      readonly name: string;
      /** JSON, or free text where the tool is custom. */
      readonly pieces: readonly string[];
      /** A call of a custom tool, which only chat and responses know. */
      readonly custom?: boolean;
    };

export interface AnswerSpec {
  readonly blocks: readonly Block[];
  readonly finish: 'stop' | 'length' | 'tool' | 'refusal';
  readonly tokens: TokenCounts;
  /** The sequence that ended the answer; only the messages format tells it. */
  readonly stopSequence?: string;
  /** Why a messages provider refused. */
  readonly explanation?: string;
  /** How many more answers a chat provider gives unasked. */
  readonly moreChoices?: number;
  /** The stream breaks off with an error after this many frames. */
  readonly errorAfterFrames?: number;
}

const MODEL = 'upstream-model';
const CREATED = 1_700_000_000;

export function wholeAnswer(format: Format, spec: AnswerSpec): object {
  if (format === 'chat') return chatBody(spec);
  return format === 'responses' ? responsesBody(spec) : messagesBody(spec);
}

export function streamedAnswer(format: Format, spec: AnswerSpec): string {
  const frames =
    format === 'chat' ? chatFrames(spec) : format === 'responses' ? responsesFrames(spec) : messagesFrames(spec);
  if (spec.errorAfterFrames === undefined) return frames.join('');
  return [...frames.slice(0, spec.errorAfterFrames), errorFrame(format)].join('');
}

function errorFrame(format: Format): string {
  if (format === 'chat')
    return data({ error: { message: 'The engine is overloaded.', type: 'server_error', code: 'overloaded' } });
  if (format === 'messages')
    return event({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } });
  const error = { code: 'server_is_overloaded', message: 'The engine is overloaded.' };
  return event({
    type: 'response.failed',
    sequence_number: 99,
    response: { ...responseShell(), status: 'failed', error },
  });
}

const join = (block: { readonly pieces: readonly string[] }): string => block.pieces.join('');
const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
interface Typed {
  readonly type: string;
  readonly [name: string]: unknown;
}
const event = (value: Typed): string => `event: ${value.type}\n${data(value)}`;

// Chat.

const CHAT_FINISH = { stop: 'stop', length: 'length', tool: 'tool_calls', refusal: 'stop' } as const;

function chatUsage(tokens: TokenCounts): object {
  return {
    prompt_tokens: inputTokens(tokens),
    completion_tokens: tokens.output,
    total_tokens: totalTokens(tokens),
    prompt_tokens_details: { cached_tokens: tokens.cacheRead, cache_write_tokens: tokens.cacheWrite },
    completion_tokens_details: { reasoning_tokens: tokens.reasoning },
  };
}

function chatBody(spec: AnswerSpec): object {
  const of = (kind: Block['kind']): string =>
    spec.blocks.flatMap((block) => (block.kind === kind && 'pieces' in block ? [join(block)] : [])).join('');
  const calls = spec.blocks.flatMap((block): object[] => {
    if (block.kind !== 'tool') return [];
    const { id, name } = block;
    return block.custom
      ? [{ id, type: 'custom', custom: { name, input: join(block) } }]
      : [{ id, type: 'function', function: { name, arguments: join(block) } }];
  });
  const thinking = of('thinking');
  const refusal = of('refusal');
  const annotations = spec.blocks.flatMap(chatAnnotations);
  const tokens = spec.blocks.flatMap((block) =>
    block.kind === 'text' && block.logprobs === true ? logprobsOf(block.pieces) : [],
  );
  return {
    id: 'chatcmpl-up1',
    object: 'chat.completion',
    created: CREATED,
    model: MODEL,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: of('text') || null,
          refusal: refusal === '' ? null : refusal,
          ...(thinking === '' ? {} : { reasoning_content: thinking }),
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
          ...(annotations.length === 0 ? {} : { annotations }),
        },
        logprobs: tokens.length === 0 ? null : { content: tokens, refusal: null },
        finish_reason: CHAT_FINISH[spec.finish],
      },
      ...anotherChoices(spec).map((index) => ({
        index,
        message: { role: 'assistant', content: 'Another answer.', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      })),
    ],
    usage: chatUsage(spec.tokens),
  };
}

/** The indexes of the answers that nobody asked for. */
function anotherChoices({ moreChoices = 0 }: AnswerSpec): readonly number[] {
  return Array.from({ length: moreChoices }, (_none, index) => index + 1);
}

function chatFrames(spec: AnswerSpec): string[] {
  const chunk = (choices: readonly object[], more: object = {}): string =>
    data({ id: 'chatcmpl-up1', object: 'chat.completion.chunk', created: CREATED, model: MODEL, choices, ...more });
  const delta = (value: object, finish: string | null = null): string =>
    chunk([{ index: 0, delta: value, finish_reason: finish }]);
  const frames = [delta({ role: 'assistant', content: null })];
  let index = 0;
  for (const block of spec.blocks) {
    if (block.kind === 'text') {
      const tokens = block.logprobs === true ? logprobsOf(block.pieces) : [];
      for (const [at, content] of block.pieces.entries()) {
        const logprobs = tokens[at] === undefined ? {} : { logprobs: { content: [tokens[at]], refusal: null } };
        frames.push(chunk([{ index: 0, delta: { content }, ...logprobs, finish_reason: null }]));
      }
      const annotations = chatAnnotations(block);
      if (annotations.length > 0) frames.push(delta({ annotations }));
    }
    if (block.kind === 'refusal') frames.push(...block.pieces.map((refusal) => delta({ refusal })));
    if (block.kind === 'thinking') frames.push(...block.pieces.map((text) => delta({ reasoning_content: text })));
    if (block.kind === 'tool') {
      const [type, field] = block.custom ? (['custom', 'input'] as const) : (['function', 'arguments'] as const);
      const call = { index, id: block.id, type, [type]: { name: block.name, [field]: '' } };
      frames.push(delta({ tool_calls: [call] }));
      for (const piece of block.pieces) frames.push(delta({ tool_calls: [{ index, [type]: { [field]: piece } }] }));
      index++;
    }
  }
  for (const another of anotherChoices(spec)) {
    frames.push(chunk([{ index: another, delta: { content: 'Another answer.' }, finish_reason: 'stop' }]));
  }
  frames.push(delta({}, CHAT_FINISH[spec.finish]), chunk([], { usage: chatUsage(spec.tokens) }), 'data: [DONE]\n\n');
  return frames;
}

// Responses.

function responseShell(): object {
  return { id: 'resp_up1', object: 'response', created_at: CREATED, model: MODEL, status: 'in_progress', output: [] };
}

function responsesItem(block: Block, index: number): Typed {
  const status = 'completed';
  if (block.kind === 'text' || block.kind === 'refusal') {
    const content =
      block.kind === 'text'
        ? {
            type: 'output_text',
            text: join(block),
            annotations: responsesAnnotations(block),
            logprobs: block.logprobs === true ? logprobsOf(block.pieces) : [],
          }
        : { type: 'refusal', refusal: join(block) };
    return { type: 'message', id: `msg_up${index}`, status, role: 'assistant', content: [content] };
  }
  if (block.kind === 'tool') {
    const { id: call_id, name } = block;
    if (block.custom)
      return { type: 'custom_tool_call', id: `ctc_up${index}`, status, call_id, name, input: join(block) };
    return { type: 'function_call', id: `fc_up${index}`, status, call_id, name, arguments: join(block) };
  }
  const summary = block.kind === 'thinking' ? [{ type: 'summary_text', text: join(block) }] : [];
  const encrypted_content = block.kind === 'thinking' ? block.signature : block.data;
  return { type: 'reasoning', id: `rs_up${index}`, summary, encrypted_content };
}

function responsesBody(spec: AnswerSpec): object {
  const incomplete = spec.finish === 'length';
  return {
    ...responseShell(),
    status: incomplete ? 'incomplete' : 'completed',
    incomplete_details: incomplete ? { reason: 'max_output_tokens' } : null,
    output: spec.blocks.map(responsesItem),
    usage: {
      input_tokens: inputTokens(spec.tokens),
      input_tokens_details: { cached_tokens: spec.tokens.cacheRead, cache_write_tokens: spec.tokens.cacheWrite },
      output_tokens: spec.tokens.output,
      output_tokens_details: { reasoning_tokens: spec.tokens.reasoning },
      total_tokens: totalTokens(spec.tokens),
    },
  };
}

function responsesFrames(spec: AnswerSpec): string[] {
  let sequence = 0;
  const frames: string[] = [];
  const send = (type: string, fields: object): void => {
    frames.push(event({ type, sequence_number: sequence++, ...fields }));
  };
  send('response.created', { response: responseShell() });
  send('response.in_progress', { response: responseShell() });
  for (const [index, block] of spec.blocks.entries()) sendItem(block, index, send);
  send(spec.finish === 'length' ? 'response.incomplete' : 'response.completed', { response: responsesBody(spec) });
  return frames;
}

function sendItem(block: Block, index: number, send: (type: string, fields: object) => void): void {
  const item = responsesItem(block, index);
  const place = { item_id: item.id, output_index: index };
  const added =
    item.type === 'message'
      ? { ...item, status: 'in_progress', content: [] }
      : item.type === 'reasoning'
        ? { ...item, summary: [], encrypted_content: null }
        : { ...item, status: 'in_progress', [item.type === 'function_call' ? 'arguments' : 'input']: '' };
  send('response.output_item.added', { output_index: index, item: added });
  if (block.kind === 'text' || block.kind === 'refusal') {
    const at = { ...place, content_index: 0 };
    const name = block.kind === 'text' ? 'output_text' : 'refusal';
    const part = (text: string): object =>
      block.kind === 'text' ? { type: name, text, annotations: [], logprobs: [] } : { type: name, refusal: text };
    send('response.content_part.added', { ...at, part: part('') });
    const tokens = block.kind === 'text' && block.logprobs === true ? logprobsOf(block.pieces) : [];
    for (const [place, delta] of block.pieces.entries()) {
      send(`response.${name}.delta`, { ...at, delta, logprobs: tokens.slice(place, place + 1) });
    }
    const annotations = responsesAnnotations(block);
    for (const [annotation_index, annotation] of annotations.entries()) {
      send('response.output_text.annotation.added', { ...at, annotation_index, annotation });
    }
    send(`response.${name}.done`, { ...at, [block.kind]: join(block) });
    const told = block.kind === 'text' ? { annotations, logprobs: tokens } : {};
    send('response.content_part.done', { ...at, part: { ...part(join(block)), ...told } });
  } else if (block.kind === 'thinking') {
    const at = { ...place, summary_index: 0 };
    send('response.reasoning_summary_part.added', { ...at, part: { type: 'summary_text', text: '' } });
    for (const delta of block.pieces) send('response.reasoning_summary_text.delta', { ...at, delta });
    send('response.reasoning_summary_text.done', { ...at, text: join(block) });
    send('response.reasoning_summary_part.done', { ...at, part: { type: 'summary_text', text: join(block) } });
  } else if (block.kind === 'tool') {
    const [name, field] = block.custom ? ['custom_tool_call_input', 'input'] : ['function_call_arguments', 'arguments'];
    for (const delta of block.pieces) send(`response.${name}.delta`, { ...place, delta });
    send(`response.${name}.done`, { ...place, [field]: join(block) });
  }
  send('response.output_item.done', { output_index: index, item });
}

// Messages.

const STOP_REASON = { stop: 'end_turn', length: 'max_tokens', tool: 'tool_use', refusal: 'refusal' } as const;

function messagesUsage(tokens: TokenCounts, output: number): object {
  return {
    input_tokens: tokens.input,
    cache_creation_input_tokens: tokens.cacheWrite + tokens.cacheWrite1h,
    cache_read_input_tokens: tokens.cacheRead,
    cache_creation: {
      ephemeral_5m_input_tokens: tokens.cacheWrite,
      ephemeral_1h_input_tokens: tokens.cacheWrite1h,
    },
    output_tokens: output,
    output_tokens_details: { thinking_tokens: tokens.reasoning },
  };
}

function messagesBlock(block: Block): object {
  switch (block.kind) {
    case 'text':
    case 'refusal': {
      const citations = messagesCitations(block);
      return { type: 'text', text: join(block), citations: citations.length === 0 ? null : citations };
    }
    case 'thinking':
      return { type: 'thinking', thinking: join(block), signature: block.signature };
    case 'redacted':
      return { type: 'redacted_thinking', data: block.data };
    case 'tool':
      // The format has no place for arguments that are not complete.
      return { type: 'tool_use', id: block.id, name: block.name, input: parseJson(join(block)) ?? {} };
  }
}

function messagesEnding({ finish, stopSequence, explanation }: AnswerSpec): object {
  const stop_reason = stopSequence === undefined ? STOP_REASON[finish] : 'stop_sequence';
  const details = explanation === undefined ? {} : { stop_details: { type: 'refusal', category: null, explanation } };
  return { stop_reason, stop_sequence: stopSequence ?? null, ...details };
}

function messagesBody(spec: AnswerSpec): object {
  return {
    id: 'msg_up1',
    type: 'message',
    role: 'assistant',
    model: MODEL,
    content: spec.blocks.map(messagesBlock),
    ...messagesEnding(spec),
    usage: messagesUsage(spec.tokens, spec.tokens.output),
  };
}

function messagesFrames(spec: AnswerSpec): string[] {
  const untold = { stop_reason: null, stop_sequence: null, stop_details: undefined };
  const message = { ...messagesBody(spec), content: [], ...untold, usage: messagesUsage(spec.tokens, 1) };
  const frames = [event({ type: 'message_start', message }), event({ type: 'ping' })];
  for (const [index, block] of spec.blocks.entries()) {
    const empty =
      block.kind === 'thinking'
        ? { type: 'thinking', thinking: '', signature: '' }
        : block.kind === 'redacted'
          ? messagesBlock(block)
          : block.kind === 'tool'
            ? { type: 'tool_use', id: block.id, name: block.name, input: {} }
            : { type: 'text', text: '', citations: null };
    const delta = (value: object): string => event({ type: 'content_block_delta', index, delta: value });
    frames.push(event({ type: 'content_block_start', index, content_block: empty }));
    for (const piece of 'pieces' in block ? block.pieces : []) {
      if (block.kind === 'thinking') frames.push(delta({ type: 'thinking_delta', thinking: piece }));
      else if (block.kind === 'tool') frames.push(delta({ type: 'input_json_delta', partial_json: piece }));
      else frames.push(delta({ type: 'text_delta', text: piece }));
    }
    if (block.kind === 'thinking') frames.push(delta({ type: 'signature_delta', signature: block.signature }));
    for (const citation of messagesCitations(block)) frames.push(delta({ type: 'citations_delta', citation }));
    frames.push(event({ type: 'content_block_stop', index }));
  }
  frames.push(
    event({
      type: 'message_delta',
      delta: messagesEnding(spec),
      usage: messagesUsage(spec.tokens, spec.tokens.output),
    }),
  );
  frames.push(event({ type: 'message_stop' }));
  return frames;
}
