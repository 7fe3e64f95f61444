/** The requests of the workloads: bodies, model names, and what a complete answer contains. */

export type Wire = 'chat' | 'messages';

export type Answer =
  | { readonly kind: 'whole'; readonly bytes: number }
  | { readonly kind: 'stream'; readonly chunks: number; readonly paceMs: number };

export interface RequestShape {
  /** The format that the client speaks. */
  readonly client: Wire;
  /** The format that the upstream speaks. */
  readonly native: Wire;
  readonly bodyBytes: number;
  readonly answer: Answer;
}

/** This byte is in an answer once per streamed chunk, or twice in a whole answer: counting it counts what arrived. */
export const MARK = '~';
/** What the simulated upstream reports as input for every request. */
export const PROMPT_TOKENS = 200;
const BYTES_PER_TOKEN = 4;

export const PATHS: Readonly<Record<Wire, string>> = { chat: '/v1/chat/completions', messages: '/v1/messages' };

/** The name carries all that the upstream needs to know, so that every peer can be sent the same body. */
export function modelName(shape: RequestShape): string {
  const { answer } = shape;
  const size = answer.kind === 'whole' ? `whole-${answer.bytes}` : `stream-${answer.chunks}-${answer.paceMs}`;
  return `${size}-${shape.native}`;
}

export function answerFromModel(name: string): Answer | null {
  const match = /(whole|stream)-(\d+)(?:-(\d+))?/.exec(name);
  if (!match) return null;
  if (match[1] === 'whole') return { kind: 'whole', bytes: Number(match[2]) };
  return { kind: 'stream', chunks: Number(match[2]), paceMs: Number(match[3] ?? 0) };
}

export function outputTokens(answer: Answer): number {
  return answer.kind === 'whole' ? Math.ceil(answer.bytes / BYTES_PER_TOKEN) : answer.chunks;
}

export function expectedMarks(answer: Answer): number {
  return answer.kind === 'whole' ? 2 : answer.chunks;
}

/** What the last bytes of a complete stream contain. */
export function terminalText(shape: RequestShape): string | null {
  if (shape.answer.kind === 'whole') return null;
  return shape.client === 'chat' ? '[DONE]' : 'message_stop';
}

export function requestBody(shape: RequestShape, model: string): string {
  const head = { model, ...(shape.answer.kind === 'stream' ? { stream: true } : {}) };
  // The native messages format demands a limit; chat clients mostly send none.
  const limit = shape.client === 'messages' ? { max_tokens: 1024 } : {};
  const wrap = (turns: readonly object[]): string => JSON.stringify({ ...head, ...limit, messages: turns });
  const turns = conversation(shape);
  const missing = shape.bodyBytes - wrap(turns).length;
  if (missing <= 0) return wrap(turns);
  const last = turns.pop();
  return wrap([...turns, { ...last, content: prose(missing + String(last?.content ?? '').length) }]);
}

interface Turn {
  readonly role: string;
  readonly content: string;
}

/** One question for a small body; for a large one, an agent's history of files read and edits made. */
function conversation(shape: RequestShape): Turn[] {
  const turns: Turn[] = [];
  if (shape.client === 'chat') turns.push({ role: 'system', content: 'You are a careful assistant.' });
  const pieceBytes = 4_000;
  for (let bytes = 2 * pieceBytes; bytes < shape.bodyBytes; bytes += 2 * pieceBytes) {
    turns.push({ role: 'user', content: sourceCode(pieceBytes) }, { role: 'assistant', content: prose(pieceBytes) });
  }
  turns.push({ role: 'user', content: 'Go on.' });
  return turns;
}

const SENTENCE = 'The quick brown fox jumps over the lazy dog while the night train leaves the old station. ';
const LINE = '  if (state.items[index] !== undefined) {\n    total += state.items[index].size; // "sum"\n  }\n';

export function prose(bytes: number): string {
  return SENTENCE.repeat(Math.ceil(bytes / SENTENCE.length)).slice(0, bytes);
}

/** Quotes and line ends cost an escape each, as they do in real contexts. */
function sourceCode(bytes: number): string {
  return LINE.repeat(Math.ceil(bytes / LINE.length)).slice(0, bytes);
}
