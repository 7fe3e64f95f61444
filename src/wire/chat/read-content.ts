/** The content of a chat delta or message beside its tool calls, in whatever members a server puts it. */
import { isObject, type Json, type JsonObject, stringAt } from '../../lib/json.ts';
import { chatTexts, generatedTexts, isChatReasoning, isNotText } from '../generated-text.ts';
import { checkNextPart } from '../translate/answer-parts.ts';

/** `unread`: text that has no place in another format. */
export interface ChatPiece {
  readonly kind: 'reasoning' | 'text' | 'refusal' | 'unread';
  readonly text: string;
}

/** Members that are read here one by one, or as tool calls. */
const KNOWN = new Set(['role', 'content', 'refusal', 'tool_calls', 'function_call', 'annotations']);

export function readContent(message: JsonObject): readonly ChatPiece[] {
  const pieces: ChatPiece[] = [];
  const others: ChatPiece[] = [];
  let reasoning: Record<string, Json | undefined> | null = null;
  for (const [name, value] of Object.entries(message)) {
    if (KNOWN.has(name) || value === null || value === '' || isNotText(name)) continue;
    if (isChatReasoning(name)) {
      reasoning ??= {};
      reasoning[name] = value;
    } else {
      for (const text of generatedTexts(value)) others.push({ kind: 'unread', text });
    }
  }
  if (reasoning !== null) {
    const text = stringAt(reasoning, 'reasoning_content') ?? stringAt(reasoning, 'reasoning');
    add(pieces, 'reasoning', text ?? chatTexts(reasoning).join(''));
  }
  addContent(pieces, message.content);
  add(pieces, 'refusal', stringAt(message, 'refusal') ?? '');
  return others.length === 0 ? pieces : [...pieces, ...others];
}

/** Text, or parts of it; Mistral's models think in parts too. */
function addContent(pieces: ChatPiece[], content: Json | undefined): void {
  if (typeof content === 'string') {
    add(pieces, 'text', content);
  } else if (Array.isArray(content)) {
    for (const part of content) addPart(pieces, part);
  } else if (isObject(content)) {
    addPart(pieces, content);
  }
}

function addPart(pieces: ChatPiece[], part: Json): void {
  if (!isObject(part)) {
    if (typeof part === 'string') add(pieces, 'text', part);
    return;
  }
  const type = stringAt(part, 'type') ?? 'text';
  const text = stringAt(part, type === 'refusal' ? 'refusal' : 'text');
  if (isChatReasoning(type)) add(pieces, 'reasoning', generatedTexts(part).join(''));
  else if (text !== undefined) add(pieces, type === 'refusal' ? 'refusal' : 'text', text);
  else for (const other of generatedTexts(part)) add(pieces, 'unread', other);
}

function add(pieces: ChatPiece[], kind: ChatPiece['kind'], text: string): void {
  if (text === '') return;
  checkNextPart(pieces.length);
  pieces.push({ kind, text });
}
