/**
 * The token counter: low, likely and high.
 * - `high` is provable: a token covers at least one byte of text, so a body never has more tokens than bytes, plus
 *   what providers add themselves and what images may count for. Holds use it. It does not look at the text.
 * - `likely` is a calibrated guess, made when it is first asked for; local charges and token counts use it.
 * - The low one takes a real tokenizer, off the loop, and only when the context window may be exceeded: nothing is
 *   refused on less. The same count lowers `high` before a request is refused for want of balance.
 */
import type { Model, Target } from '../core/model.ts';
import { arrayAt, isObject, type JsonObject } from '../lib/json.ts';
import type { RequestInfo } from '../wire/format.ts';
import type { ExactCount } from './exact-count.ts';
import { likelyTokens } from './heuristic.ts';
import { type Prompt, readPrompt } from './prompt-text.ts';
import { tokenizerOf } from './tokenizer.ts';
import type { CountJob } from './worker.ts';

/** The tokens that providers put around a prompt; those around each message are covered by the bytes of its JSON. */
const FRAME_TOKENS_MAX = 32;
/** Providers put a prompt of their own in front of tools, and a longer one for each tool that they know by its type. */
const TOOL_PROMPT_TOKENS_MAX = 1_024;
const TYPED_TOOL_TOKENS_MAX = 1_024;
/** Around a counted message, part or tool, where no JSON covers it. */
const SEGMENT_TOKENS_MAX = 8;
const TOOL_TOKENS_MAX = 16;
const SEGMENT_TOKENS_LIKELY = 3;

/** The most that one image counts for at the providers known here. */
const IMAGE_TOKENS_MAX = 20_000;
/** Models that bill an image as far more tokens than it takes of their window. */
const IMAGE_BILLED_BEYOND_WINDOW = /gpt-4o-mini/;
const IMAGE_BILLED_TOKENS_MAX = 50_000;
const IMAGE_TOKENS_LIKELY = 1_200;
/** A file has no bound but the context window; this is for models whose window is not known. */
const FILE_TOKENS_MAX = 2_000_000;
const FILE_TOKENS_LIKELY = 3_000;

const FILE_BYTES_PER_TOKEN_LIKELY = 4;
/** A shorter input is held by its bytes: the difference is too small to matter. */
const RECOUNT_BYTES_MIN = 512;

/** The likely figure can be off by this much, so that beyond this share of the window a count has to decide. */
const DOUBT_SHARE = 0.75;
/** Ordinary text has fewer characters per token. */
const UNITS_PER_TOKEN_MAX = 8;
/** This much is counted quickly enough to be counted whole. */
const UNITS_COUNTED_MIN = 256 * 1_024;

interface CountedRequest {
  readonly bytes: Uint8Array;
  readonly body: JsonObject;
  readonly info: RequestInfo;
}

/** The input of one request to one model. `counted`: its text as a real tokenizer counted it, if it has been. */
export class InputEstimate {
  readonly high: number;
  readonly #request: CountedRequest;
  readonly #window: number | null;
  readonly #targets: readonly Target[];
  readonly #counted: ExactCount | null;
  #prompt: Prompt | null = null;
  #guessed: number | null = null;
  /** Once the text is gone. */
  #released: number | null = null;

  constructor(request: CountedRequest, model: Model, targets: readonly Target[], counted: ExactCount | null) {
    this.#request = request;
    this.#window = model.contextWindow;
    this.#targets = targets;
    this.#counted = counted;
    this.high = counted === null ? this.#highOfBytes() : Math.min(this.#highOfBytes(), this.#highOfCount(counted));
  }

  /** The likely tokens of the whole input, also where that is more than the window has room for. */
  get likely(): number {
    return this.#released ?? Math.min(this.#likely(), this.#highOfBytes());
  }

  /** The text will not be counted any more, and is not kept: what is asked for from now on are `high` and `likely`. */
  release(): void {
    this.#released = this.likely;
    this.#prompt = null;
  }

  /** Whether the window may be exceeded, so that a count has to decide; one that is late has not. */
  get mayExceedWindow(): boolean {
    const window = this.#window;
    if (window === null || !this.#isUncounted || this.#textBytes() <= window) return false;
    return !this.#read().shortened && this.#likely() >= window * DOUBT_SHARE;
  }

  /** How many tokens the input has where that leaves no room in the window; null where it does, or nothing is sure. */
  get overflowTokens(): number | null {
    if (this.#counted === null || this.#window === null || this.#read().shortened) return null;
    const counted = Math.max(this.#counted.low, this.#counted.likely) + this.#read().segments * SEGMENT_TOKENS_LIKELY;
    // A count that is late has nothing of the rest, and half of the guess is less than any count that it can turn out to be.
    const text = this.#counted.late ? Math.max(counted, Math.floor(this.#likely() / 2)) : counted;
    return text >= this.#window ? Math.max(text, this.#likely()) : null;
  }

  /** How much output the window leaves room for beside the input, where that is less than this limit. */
  outputRoom(outputLimit: number): number {
    const window = this.#window;
    if (window === null || this.high + outputLimit <= window) return outputLimit;
    const room = window - this.#likely();
    // An input that leaves none is refused where a count has confirmed it.
    return room > 0 ? Math.min(outputLimit, room) : outputLimit;
  }

  /** Whether a count could make `high` notably smaller. */
  get worthExactCount(): boolean {
    return this.#isUncounted && this.#textBytes() >= RECOUNT_BYTES_MIN;
  }

  toJob(): CountJob {
    const { certain, definitions, others } = this.#read();
    const window = this.#window;
    // An input far beyond the window is refused by its beginning, however long it is.
    const decidedEarly = window !== null && this.#likely() > 2 * window;
    return {
      texts: { certain, definitions, others },
      tokenizer: tokenizerOf(this.#targets),
      unitsMax: decidedEarly ? Math.max(window * UNITS_PER_TOKEN_MAX, UNITS_COUNTED_MIN) : Number.POSITIVE_INFINITY,
    };
  }

  #textBytes(): number {
    return this.#request.bytes.length - this.#request.info.attachments.inlineBytes;
  }

  #highOfBytes(): number {
    const { attachments, needs } = this.#request.info;
    const text = this.#textBytes() + this.#added();
    if (needs.files !== undefined) return text + (this.#window ?? attachments.count * FILE_TOKENS_MAX);
    return attachments.count === 0 ? text : text + attachments.count * this.#imageTokensMax();
  }

  #highOfCount(counted: ExactCount): number {
    const { attachments } = this.#request.info;
    const { segments, tools, images, files, fileTokensMax } = this.#read();
    // A part that one of the readings does not take for an attachment is held by its bytes.
    if (fileTokensMax === null || images + files !== attachments.count) return Number.POSITIVE_INFINITY;
    const around = segments * SEGMENT_TOKENS_MAX + tools * TOOL_TOKENS_MAX + this.#added();
    return counted.high + around + fileTokensMax + images * this.#imageTokensMax();
  }

  /** The tokens that the provider adds to the client's own text. */
  #added(): number {
    if (this.#request.info.needs.tools === undefined) return FRAME_TOKENS_MAX;
    let typed = 0;
    for (const tool of arrayAt(this.#request.body, 'tools') ?? []) {
      const type = isObject(tool) ? tool.type : undefined;
      if (type !== undefined && type !== 'function' && type !== 'custom') typed++;
    }
    return FRAME_TOKENS_MAX + TOOL_PROMPT_TOKENS_MAX + typed * TYPED_TOOL_TOKENS_MAX;
  }

  #imageTokensMax(): number {
    return this.#billsImagesBeyondWindow() ? IMAGE_BILLED_TOKENS_MAX : IMAGE_TOKENS_MAX;
  }

  #billsImagesBeyondWindow(): boolean {
    return this.#targets.some(({ upstreamModel }) => IMAGE_BILLED_BEYOND_WINDOW.test(upstreamModel));
  }

  #likely(): number {
    this.#guessed ??= this.#guess();
    return this.#guessed;
  }

  #guess(): number {
    const { certain, definitions, segments, images, files, fileTokensMax } = this.#read();
    const text = this.#countedWhole?.likely ?? likelyTokens([...certain, ...definitions]);
    const inFiles =
      fileTokensMax === null ? files * FILE_TOKENS_LIKELY : Math.ceil(fileTokensMax / FILE_BYTES_PER_TOKEN_LIKELY);
    return text + segments * SEGMENT_TOKENS_LIKELY + images * IMAGE_TOKENS_LIKELY + inFiles;
  }

  get #isUncounted(): boolean {
    return this.#counted === null || this.#counted.late === true;
  }

  /** Null also where only the beginning was counted. */
  get #countedWhole(): ExactCount | null {
    return this.#counted !== null && Number.isFinite(this.#counted.high) ? this.#counted : null;
  }

  #read(): Prompt {
    this.#prompt ??= readPrompt(this.#request.body);
    return this.#prompt;
  }
}
