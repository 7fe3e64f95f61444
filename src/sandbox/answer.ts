import type { Directives } from './directives.ts';
import type { Prompt, Tool } from './prompt.ts';
import { sampleOf } from './sample.ts';
import { tokenize } from './tokens.ts';

/** The pieces are what is sent, one chunk each; joined they are the part's text, arguments or input. */
export type Part =
  | { readonly kind: 'thinking' | 'text'; readonly pieces: readonly string[] }
  | { readonly kind: 'call'; readonly tool: Tool; readonly pieces: readonly string[] };

export interface Answer {
  /** The parts of the answer, at least one. Only the last one can be cut short by the output limit. */
  readonly parts: readonly Part[];
  readonly finish: 'stop' | 'length' | 'calls' | 'stop_sequence';
  readonly stopSequence: string | null;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

/** The request as it arrived, for `[[echo]]` and `[[headers]]`. */
interface Arrival {
  bodyText(): string;
  headersText(): string;
}

const EXCERPT_CHARACTERS = 48;
const FILLER = [' and', ' so', ' on'] as const;
const THINKING = 'Simulated thinking: the request is read and an answer is chosen.';

/**
 * The answer to a prompt. The same prompt always gets the same answers, whole or streamed, in every format.
 */
export function planAnswers(prompt: Prompt, directives: Directives, arrival: Arrival): Answer[] {
  return Array.from({ length: prompt.answerCount }, (_, index) => planAnswer(prompt, directives, arrival, index));
}

function planAnswer(prompt: Prompt, directives: Directives, arrival: Arrival, index: number): Answer {
  const calls = chooseTools(prompt, directives).map(callPart);
  const callTokens = sumTokens(calls);
  const wanted = directives.tokens;
  const limit = prompt.outputLimit ?? Number.POSITIVE_INFINITY;
  const thinking = directives.thinking ? tokenize(THINKING, wanted === undefined ? undefined : wanted >> 1) : [];
  const left = wanted === undefined ? undefined : Math.max(0, wanted - callTokens - thinking.length);
  const text = planText(prompt, directives, arrival, { index, wanted: left, limit, called: calls.length > 0 });

  const parts: Part[] = [];
  if (thinking.length > 0) parts.push({ kind: 'thinking', pieces: thinking });
  if (text.pieces.length > 0 || calls.length === 0) parts.push({ kind: 'text', pieces: text.pieces });
  if (text.stopSequence === null) parts.push(...calls);
  return limitAnswer(parts, limit, text.stopSequence, calls.length > 0);
}

function sumTokens(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => sum + part.pieces.length, 0);
}

/** A tool's result is answered with text, whatever was asked before. */
function chooseTools(prompt: Prompt, directives: Directives): readonly Tool[] {
  const { tools, toolChoice } = prompt;
  if (prompt.toolResult !== undefined || toolChoice.kind === 'none') return [];
  const asked = toolChoice.kind === 'forced' ? Math.max(1, directives.tool) : directives.tool;
  const name = toolChoice.kind === 'forced' ? toolChoice.name : undefined;
  const usable = name === undefined ? tools : tools.filter((tool) => tool.name === name);
  const chosen: Tool[] = [];
  for (let call = 0; call < (prompt.parallelCalls ? asked : Math.min(1, asked)); call += 1) {
    const tool = usable[call % usable.length];
    if (tool !== undefined) chosen.push(tool);
  }
  return chosen;
}

function callPart(tool: Tool): Part {
  const sent = tool.custom ? 'simulated' : JSON.stringify(sampleOf(tool.schema) ?? {});
  return { kind: 'call', tool, pieces: tokenize(sent) };
}

interface TextNeeds {
  readonly index: number;
  /** Exactly so many tokens; undefined for the text's own length. */
  readonly wanted: number | undefined;
  readonly limit: number;
  readonly called: boolean;
}

interface PlannedText {
  readonly pieces: readonly string[];
  readonly stopSequence: string | null;
}

function planText(prompt: Prompt, directives: Directives, arrival: Arrival, needs: TextNeeds): PlannedText {
  const verbatim = directives.echo ? arrival.bodyText() : directives.headers ? arrival.headersText() : undefined;
  if (needs.called && needs.wanted === undefined && verbatim === undefined) return { pieces: [], stopSequence: null };
  const text = verbatim ?? composeText(prompt, directives, needs.index);
  // One more than the limit is enough to see that the limit cuts.
  const pieces = tokenize(text, Math.min(needs.wanted ?? Number.POSITIVE_INFINITY, needs.limit + 1));
  const fill = Math.min(needs.wanted ?? 0, needs.limit + 1) - pieces.length;
  for (let added = 0; added < fill; added += 1) pieces.push(FILLER[added % FILLER.length] ?? FILLER[0]);
  return verbatim === undefined ? stopAt(pieces, prompt.stops) : { pieces, stopSequence: null };
}

function composeText(prompt: Prompt, directives: Directives, index: number): string {
  if (prompt.answerSchema !== undefined) return JSON.stringify(sampleOf(prompt.answerSchema));
  const opening = `Simulated answer${index === 0 ? '' : ` ${index + 1}`}: no model was run.`;
  if (prompt.toolResult !== undefined) return `${opening} The tool returned: “${excerpt(prompt.toolResult)}”.`;
  const said = excerpt(directives.rest);
  return said === '' ? `${opening} You wrote nothing that could be repeated here.` : `${opening} You wrote: “${said}”.`;
}

function excerpt(text: string): string {
  const words = text
    .trim()
    .slice(0, EXCERPT_CHARACTERS * 4)
    .split(/\s/)
    .filter((word) => word !== '');
  const characters = Array.from(words.join(' '));
  if (characters.length <= EXCERPT_CHARACTERS) return characters.join('');
  return `${characters.slice(0, EXCERPT_CHARACTERS).join('')}…`;
}

/** Cuts before the earliest stop sequence. */
function stopAt(pieces: readonly string[], stops: readonly string[]): PlannedText {
  let stopSequence: string | null = null;
  if (stops.length === 0) return { pieces, stopSequence };
  const text = pieces.join('');
  let end = text.length;
  for (const stop of stops) {
    const at = text.indexOf(stop);
    if (at !== -1 && at < end) {
      end = at;
      stopSequence = stop;
    }
  }
  return { pieces: stopSequence === null ? pieces : tokenize(text.slice(0, end)), stopSequence };
}

function limitAnswer(parts: readonly Part[], limit: number, stopSequence: string | null, called: boolean): Answer {
  const kept: Part[] = [];
  let room = limit;
  let cut = false;
  for (const part of parts) {
    if (cut || (room === 0 && part.pieces.length > 0)) {
      cut = true;
      break;
    }
    cut = part.pieces.length > room;
    kept.push(cut ? { ...part, pieces: part.pieces.slice(0, room) } : part);
    room -= Math.min(room, part.pieces.length);
  }
  const thinking = kept.filter((part) => part.kind === 'thinking');
  const ended = stopSequence !== null ? 'stop_sequence' : called ? 'calls' : 'stop';
  return {
    parts: kept,
    finish: cut ? 'length' : ended,
    stopSequence: cut ? null : stopSequence,
    outputTokens: sumTokens(kept),
    reasoningTokens: sumTokens(thinking),
  };
}

export function partText(part: Part): string {
  return part.pieces.join('');
}
