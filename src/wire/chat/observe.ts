/** Watches a passed-through chat answer: usage, finish, terminal part, and the few edits that the contract needs. */
import type { TokenCounts } from '../../core/usage.ts';
import { arrayAt, isObject, type Json, type JsonObject, objectsAt } from '../../lib/json.ts';
import { isChatReasoning, isNotText } from '../generated-text.ts';
import { MemberScanner, OPEN_BRACE, OPEN_BRACKET, skipSpace, valueEnd } from '../json/scan.ts';
import { type EditList, isErrorValue, looksLikeObject, type PublicModel } from '../passthrough/observer.ts';
import { rewriteEvents } from '../passthrough/rewrite-events.ts';
import { StreamObserver, type Verdict } from '../passthrough/stream-observer.ts';
import { dataIs, type FrameView, parsedData } from '../sse.ts';
import { brokenStream, readFailure } from '../upstream-failure.ts';
import { CallNames } from './call-names.ts';
import { RepeatedTexts } from './repeated-texts.ts';
import { readChatTerms, readChatTokens, SEARCH, writeChatTokens } from './tokens.ts';
import { chatCommon, chatUsageFrame } from './usage-frame.ts';

interface ChatObserverOptions {
  readonly publicModel: string;
  /** Whether the client asked for the usage chunk itself. */
  readonly usageAsked: boolean;
  readonly choices: number;
  /** Whether the request asks for a web search, which this format has no count of. */
  readonly searches?: boolean;
  /** The most tokens that the request can take. */
  readonly tokensMax?: (() => number) | undefined;
}

const CLOSING = Buffer.from('data: [DONE]\n\n');
const EMPTY_CONTENT = Buffer.from('""');
const CONTENT_MEMBER = Buffer.from('"content":""');
const ROLE_MEMBER = Buffer.from('"role":"assistant"');
const NULL = Buffer.from('null');
const COMMA = Buffer.from(',');
const CLOSE_BRACE = 0x7d;
const CLOSE_BRACKET = 0x5d;

/** The depth of the members of a choice, and of those of its delta. */
const CHOICE_DEPTH = 3;
const DELTA_DEPTH = 4;
/** Where an image of a delta is, as it is or by its address. */
const IMAGE_MEMBERS = new Set(['url', 'image_url', 'b64_json']);

export class ChatObserver extends StreamObserver {
  readonly closing = CLOSING;
  readonly #options: ChatObserverOptions;
  readonly #openedChoices = new Set<number>();
  readonly #names = new CallNames();
  readonly #repeated = new RepeatedTexts(this.output);
  #finishes = 0;
  /** The members that every chunk repeats. */
  #common: JsonObject = {};

  // The findings of the scan of the current frame.
  #hasChoices = false;
  #emptyChoices = false;
  #usage = false;
  #usageStart = 0;
  /** The frame has text in places where servers repeat that of deltas. */
  #repeats = false;
  /** The scan is within a delta, and within reasoning, sound or images of it. */
  #inDelta = false;
  #inReasoning = false;
  #inSound = false;
  #inImages = false;
  /** The same within calls of tools, and whether one of them has a name. */
  #inCalls = false;
  #hasNames = false;
  /** Bytes of reasoning in the current member of the delta, and the most in one of them: servers repeat it in several. */
  #reasoningBytes = 0;
  #reasoningMost = 0;

  constructor(options: ChatObserverOptions) {
    super(options.publicModel, options.tokensMax);
    this.#options = options;
    if (options.searches) this.reported.terms.called(SEARCH);
  }

  get finished(): boolean {
    return this.#finishes >= this.#options.choices;
  }

  protected newFrame(frame: FrameView, first: boolean, edits: EditList): Verdict {
    if (!looksLikeObject(frame)) return this.#notAnObject(frame, first);
    const before = edits.length;
    const finishes = this.#finishes;
    this.scan(frame, edits);
    if (this.error || (this.code && this.message)) return this.fail(readFailure(parsedData(frame), first));
    if (this.#hasNames) this.#countNames(frame);
    if (this.#repeats) this.#countRepeated(frame);
    if (!this.#hasChoices && (first || !this.#usage)) {
      if (first) return this.fail(brokenStream('The provider sent an event that is not a chat completion chunk.'));
      return 'event';
    }
    if (this.#usage) this.#report(frame);
    if (this.#usage && (this.#emptyChoices || !this.#hasChoices)) {
      return this.#options.usageAsked ? 'hold' : 'drop';
    }
    // The client does not get figures that cannot be; what was counted instead comes with the end.
    const patches = this.#usage && this.reported.disbelieved ? [this.#withoutUsage(frame)] : [];
    if (this.#openedChoices.size < this.#options.choices && !this.#emptyChoices) {
      return this.#openChoices(frame, edits, before, patches);
    }
    if (patches.length > 0) addInOrder(edits, before, patches, this.model, this.scanner, frame);
    this.plainDelta = !this.#usage && !this.#emptyChoices && !this.#repeats && this.#finishes === finishes;
    return 'event';
  }

  #notAnObject(frame: FrameView, first: boolean): Verdict {
    if (dataIs(frame, '[DONE]')) {
      return first ? this.fail(brokenStream('The provider sent an empty stream.')) : 'terminal';
    }
    if (dataIs(frame, '')) return 'neutral';
    return this.fail(brokenStream('The provider sent an event that is not JSON.'));
  }

  /** What repeats deltas is compared with them, and images with those before, which takes all of the frame. */
  override mayFlow(beginning: FrameView): boolean {
    const { scanner } = this;
    scanner.begin(beginning.text, beginning.dataStart, beginning.dataEnd);
    while (scanner.next()) {
      if (scanner.depth === DELTA_DEPTH && scanner.keyIs('images')) return false;
      if (scanner.depth !== CHOICE_DEPTH || !scanner.topIs('choices')) continue;
      if (scanner.keyIs('message') || scanner.keyIs('text')) return false;
    }
    return super.mayFlow(beginning);
  }

  protected scan(frame: FrameView, edits: EditList): void {
    const scanner = this.scanner;
    this.#hasChoices = false;
    this.#emptyChoices = false;
    this.#usage = false;
    this.#repeats = false;
    this.#hasNames = false;
    this.#inDelta = false;
    this.beginScan(frame);
    while (scanner.next()) {
      if (scanner.depth === 1) this.#scanTop(scanner, edits);
      else if (scanner.depth === CHOICE_DEPTH && scanner.topIs('choices')) this.#scanChoice(scanner);
      else if (this.#inDelta) this.#scanDelta(scanner);
      else this.beside.visit(scanner);
    }
    scanner.release();
  }

  #scanTop(scanner: MemberScanner, edits: EditList): void {
    this.#inDelta = false;
    if (scanner.keyIs('model')) {
      this.model.put(scanner, edits);
    } else if (scanner.keyIs('choices') && !scanner.isString) {
      this.#hasChoices = scanner.opensWith(OPEN_BRACKET);
      const inner = skipSpace(scanner.text, scanner.valueStart + 1);
      this.#emptyChoices = this.#hasChoices && scanner.text.charCodeAt(inner) === CLOSE_BRACKET;
    } else if (scanner.keyIs('usage') && !scanner.isString) {
      this.#usage = scanner.opensWith(OPEN_BRACE);
      this.#usageStart = scanner.valueStart;
    } else if (scanner.keyIs('error')) {
      this.error ||= isErrorValue(scanner);
      scanner.skip();
    } else if (scanner.keyIs('object') || scanner.keyIs('type')) {
      this.error ||= scanner.stringIs('error');
    } else if (scanner.isString && (scanner.keyIs('obfuscation') || scanner.keyIs('p'))) {
      // Padding of OpenAI and of Mistral.
      this.output.skip(scanner);
    } else {
      this.code ||= scanner.keyIs('code');
      this.message ||= scanner.keyIs('message') && scanner.isString;
      this.beside.visit(scanner);
    }
  }

  #scanChoice(scanner: MemberScanner): void {
    this.#inDelta = scanner.keyIs('delta') || (scanner.keyIs('message') && this.#repeated.onlyMessages);
    this.#inReasoning = false;
    this.#reasoningMost = 0;
    if (this.#inDelta) {
      if (scanner.isString) this.output.count(scanner);
    } else if (scanner.keyIs('message') || scanner.keyIs('text')) {
      this.#repeats ||= !scanner.stringIs('') && scanner.valueText() !== 'null';
      scanner.skip();
    } else if (scanner.keyIs('finish_reason')) {
      if (scanner.isString && !scanner.stringIs('')) this.#finishes++;
    } else {
      this.beside.visit(scanner);
    }
  }

  #scanDelta(scanner: MemberScanner): void {
    if (scanner.depth === DELTA_DEPTH) this.#enterMember(scanner);
    const { isString } = scanner;
    if (this.#inReasoning) {
      if (isString) this.#countReasoning(scanner);
      else if (isNotText(scanner.key())) scanner.skip();
    } else if (this.#inSound && isString && scanner.keyIs('data')) {
      this.output.countSound(scanner);
    } else if (this.#inImages && isString && IMAGE_MEMBERS.has(scanner.key())) {
      this.output.countImage(scanner);
    } else if (this.#inCalls && isString && scanner.keyIs('name')) {
      this.#hasNames ||= !scanner.stringIs('');
    } else if (isString) {
      const known = scanner.keyIs('content') || scanner.keyIs('arguments');
      if (known || !isNotText(scanner.key())) this.output.count(scanner);
    } else if (scanner.opensWith(OPEN_BRACE) && (scanner.keyIs('arguments') || scanner.keyIs('input'))) {
      this.#countObject(scanner);
    } else if (isNotText(scanner.key()) && !(this.#inImages && scanner.keyIs('image_url'))) {
      scanner.skip();
    }
  }

  #enterMember(scanner: MemberScanner): void {
    this.#inSound = scanner.keyIs('audio');
    this.#inImages = scanner.keyIs('images');
    this.#inCalls = scanner.keyIs('tool_calls') || scanner.keyIs('function_call');
    this.#inReasoning = !scanner.keyIs('content') && !this.#inCalls && isChatReasoning(scanner.key());
    this.#reasoningBytes = 0;
  }

  #countReasoning(scanner: MemberScanner): void {
    if (scanner.depth > DELTA_DEPTH && isNotText(scanner.key())) return;
    const { output } = this;
    if (this.#reasoningBytes === this.#reasoningMost) {
      const before = output.bytes;
      output.count(scanner);
      this.#reasoningBytes += output.bytes - before;
    } else {
      this.#reasoningBytes += output.countBeyond(scanner, this.#reasoningMost - this.#reasoningBytes);
    }
    this.#reasoningMost = Math.max(this.#reasoningMost, this.#reasoningBytes);
  }

  /** Arguments that are not text but JSON. */
  #countObject(scanner: MemberScanner): void {
    const json = Buffer.from(scanner.valueText(), 'latin1').toString();
    if (json.length > '{}'.length) this.output.add(json);
    if (scanner.isCutOff) this.output.cutOff();
    scanner.skip();
  }

  #countNames(frame: FrameView): void {
    const chunk = parsedData(frame);
    if (!isObject(chunk)) return;
    for (const choice of objectsAt(chunk, 'choices')) {
      for (const name of this.#names.begunIn(choice)) this.output.add(name);
    }
  }

  #countRepeated(frame: FrameView): void {
    const chunk = parsedData(frame);
    if (!isObject(chunk)) return;
    const choices = isObject(chunk.choices) ? Object.values(chunk.choices) : (arrayAt(chunk, 'choices') ?? []);
    this.#repeated.count(choices.filter((choice) => isObject(choice)));
  }

  #report(frame: FrameView): void {
    const chunk = parsedData(frame);
    if (!isObject(chunk)) return;
    this.reported.terms.take(readChatTerms(chunk));
    const final = this.finished || this.#emptyChoices || !this.#hasChoices;
    this.reported.take(readChatTokens(chunk.usage), final, this.output.seen);
  }

  showUsage(terminal: Buffer, tokens: TokenCounts): Buffer {
    if (!this.#options.usageAsked) return terminal;
    let shown = false;
    const rewritten = rewriteEvents(terminal, (chunk) => {
      if (!isObject(chunk.usage)) return null;
      shown = true;
      return { ...chunk, usage: writeChatTokens(tokens) };
    });
    if (shown) return rewritten;
    return Buffer.concat([Buffer.from(chatUsageFrame(this.#common, this.#options.publicModel, tokens)), terminal]);
  }

  /** The first delta of every choice must carry the role and empty content (or content of its own). */
  #openChoices(frame: FrameView, edits: EditList, before: number, patches: Patch[]): Verdict {
    const chunk = parsedData(frame);
    if (!isObject(chunk)) return this.fail(brokenStream('The provider sent an event that is not JSON.'));
    this.reported.terms.take(readChatTerms(chunk));
    const wanted = (arrayAt(chunk, 'choices') ?? []).map((choice) => this.#isFirst(choice));
    if (this.#openedChoices.size === 0) this.#common = chatCommon(chunk);
    const scanner = this.scanner;
    scanner.begin(frame.text, frame.dataStart, frame.dataEnd);
    let ordinal = -1;
    while (scanner.next()) {
      if (scanner.depth !== CHOICE_DEPTH || !scanner.keyIs('delta') || !scanner.topIs('choices')) continue;
      ordinal++;
      if (wanted[ordinal] === true && scanner.opensWith(OPEN_BRACE)) {
        patches.push(...deltaPatches(frame.text, scanner.valueStart, frame.dataEnd));
      }
    }
    if (patches.length > 0) addInOrder(edits, before, patches, this.model, this.scanner, frame);
    return 'event';
  }

  #withoutUsage(frame: FrameView): Patch {
    const end = valueEnd(frame.text, this.#usageStart, frame.dataEnd);
    return [this.#usageStart, end === -1 ? this.#usageStart : end, NULL];
  }

  #isFirst(choice: Json): boolean {
    const index = isObject(choice) && typeof choice.index === 'number' ? choice.index : 0;
    if (this.#openedChoices.has(index)) return false;
    this.#openedChoices.add(index);
    return true;
  }
}

type Patch = [start: number, end: number, text: Buffer];

/** Edits must come in ascending order, and `model` may stand behind the choices: they are collected once more. */
function addInOrder(
  edits: EditList,
  before: number,
  patches: Patch[],
  model: PublicModel,
  scanner: MemberScanner,
  frame: FrameView,
): void {
  edits.cut(before);
  patches.sort(([one], [other]) => one - other);
  let next = 0;
  const putUntil = (offset: number): void => {
    for (let patch = patches[next]; patch !== undefined && patch[0] < offset; patch = patches[++next]) {
      edits.replace(...patch);
    }
  };
  scanner.begin(frame.text, frame.dataStart, frame.dataEnd);
  while (scanner.next()) {
    if (scanner.depth !== 1 || !scanner.keyIs('model')) continue;
    putUntil(scanner.valueStart);
    model.put(scanner, edits);
  }
  putUntil(frame.dataEnd);
}

/** The patches for the members of a first delta that the delta object at `start` lacks. */
function deltaPatches(text: string, start: number, end: number): Patch[] {
  const scanner = new MemberScanner();
  const deltaEnd = valueEnd(text, start, end);
  scanner.begin(text, start, deltaEnd === -1 ? end : deltaEnd);
  let hasRole = false;
  let hasContent = false;
  let nullContent: number | null = null;
  while (scanner.next()) {
    if (scanner.depth !== 1) continue;
    if (scanner.keyIs('role')) hasRole = scanner.isString;
    if (scanner.keyIs('content')) {
      hasContent = true;
      if (scanner.valueText() === 'null') nullContent = scanner.valueStart;
    }
  }
  const missing: Buffer[] = [];
  if (!hasRole) missing.push(ROLE_MEMBER);
  if (!hasContent) missing.push(...(missing.length > 0 ? [COMMA] : []), CONTENT_MEMBER);
  const patches: Patch[] = [];
  if (missing.length > 0) {
    const empty = text.charCodeAt(skipSpace(text, start + 1)) === CLOSE_BRACE;
    patches.push([start + 1, start + 1, Buffer.concat(empty ? missing : [...missing, COMMA])]);
  }
  if (nullContent !== null) patches.push([nullContent, nullContent + 4, EMPTY_CONTENT]);
  return patches;
}
