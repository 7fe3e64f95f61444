/** Parts of the hub → content blocks of a messages request. */

import { shownName } from '../../core/request-text.ts';
import { compact } from '../../lib/json.ts';
import { refuse } from '../errors.ts';
import { argumentsValue, leaveOut, leaveOutFile, messagesCallId, type WriteContext } from '../translate/tools.ts';
import type {
  CacheBreakpoint,
  FilePart,
  ImagePart,
  Part,
  ReasoningBlock,
  TextPart,
  ToolResultPart,
} from '../translate/turn.ts';

export function writeCacheControl(cache: CacheBreakpoint | undefined): object | undefined {
  return cache?.family === 'messages' ? cache.raw : undefined;
}

export function writePart(part: Part, writing: WriteContext): object[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [writeText(part)];
    case 'refusal':
      return part.text === '' ? [] : [{ type: 'text', text: part.text }];
    case 'image':
      return [writeImage(part, writing)];
    case 'file':
      return writeDocument(part, writing);
    case 'reasoning':
      return writeReasoningBlock(part.reasoning);
    case 'tool-call': {
      const id = writing.native ? part.callId : messagesCallId(part.callId);
      const input = argumentsValue(part);
      const breakpoint = writeCacheControl(part.cache);
      return [compact({ type: 'tool_use', id, name: writing.names.out(part.tool), input, cache_control: breakpoint })];
    }
    case 'tool-result':
      return [writeResult(part, writing)];
    case 'opaque':
      if (part.format === 'messages') return [part.raw];
      leaveOut(part, writing.warnings);
      return [];
  }
}

export function writeText(part: TextPart): object {
  const citations = (part.annotations ?? []).filter((one) => one.format === 'messages').map((one) => one.raw);
  return compact({
    type: 'text',
    text: part.text,
    citations: citations.length > 0 ? citations : undefined,
    cache_control: writeCacheControl(part.cache),
  });
}

/** A provider accepts only reasoning that it signed itself; other reasoning is left out. */
function writeReasoningBlock(reasoning: ReasoningBlock): object[] {
  if (reasoning.origin !== 'messages') return [];
  if (reasoning.redacted !== undefined) return [{ type: 'redacted_thinking', data: reasoning.redacted }];
  if (reasoning.signature === undefined) return [];
  return [{ type: 'thinking', thinking: reasoning.texts.join('\n\n'), signature: reasoning.signature }];
}

function writeImage(part: ImagePart, writing: WriteContext): object {
  return compact({ type: 'image', source: writeSource(part, writing), cache_control: writeCacheControl(part.cache) });
}

function writeSource(part: ImagePart | FilePart, writing: WriteContext): object {
  const { source } = part;
  if (source.kind === 'base64') return { type: 'base64', media_type: source.mediaType, data: source.data };
  if (source.kind === 'url') return { type: 'url', url: source.url };
  if (source.kind === 'text') return { type: 'text', media_type: 'text/plain', data: source.text };
  if (!writing.native) refuse(part.at, 'Files stored at a provider cannot be used with this model.');
  return { type: 'file', file_id: source.id };
}

function writeDocument(part: FilePart, writing: WriteContext): object[] {
  const { source } = part;
  const rest = { title: part.name, ...part.extra, cache_control: writeCacheControl(part.cache) };
  if (source.kind === 'base64' && source.mediaType.startsWith('text/')) {
    const data = Buffer.from(source.data, 'base64').toString();
    return [compact({ type: 'document', source: { type: 'text', media_type: 'text/plain', data }, ...rest })];
  }
  if (source.kind === 'base64' && source.mediaType !== 'application/pdf') {
    leaveOutFile(
      part,
      `files of type "${shownName(source.mediaType)}" are not supported by this model`,
      writing.warnings,
    );
    return [];
  }
  return [compact({ type: 'document', source: writeSource(part, writing), ...rest })];
}

function writeResult(result: ToolResultPart, writing: WriteContext): object {
  const content = result.content.flatMap((part) => writePart(part, writing));
  const [only] = content;
  const bare = content.length === 1 && only && 'text' in only && Object.keys(only).length === 2;
  return compact({
    type: 'tool_result',
    tool_use_id: writing.native ? result.callId : messagesCallId(result.callId),
    content: bare ? only.text : content.length > 0 ? content : undefined,
    is_error: result.isError ? true : undefined,
    cache_control: writeCacheControl(result.cache),
  });
}
