/** Watches a passed-through messages answer: usage, stop reason, terminal event, and the public model id. */
import { NO_TOKENS, type TokenCounts } from '../../core/usage.ts';
import { compact, isObject, type Json, type JsonObject, objectAt, parseJson } from '../../lib/json.ts';
import { bytesOf, generatedTexts, isNotText, isReturned } from '../generated-text.ts';
import { type MemberScanner, OPEN_BRACE } from '../json/scan.ts';
import { type EditList, isErrorValue, looksLikeObject } from '../passthrough/observer.ts';
import { rewriteEvents } from '../passthrough/rewrite-events.ts';
import { StreamObserver, type Verdict } from '../passthrough/stream-observer.ts';
import { hostedCall } from '../reported-terms.ts';
import { dataIs, eventName, type FrameView, parsedData } from '../sse.ts';
import { brokenStream, readFailure } from '../upstream-failure.ts';
import { figure } from '../usage.ts';
import { readMessagesTerms, readMessagesTokens, writeMessagesTokens } from './tokens.ts';

/** Events that the scan knows to look into. What others say is read as a whole. */
const KNOWN_EVENTS = new Set([
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
  'ping',
]);

const CLOSING = Buffer.from('event: message_stop\ndata: {"type":"message_stop"}\n\n');

interface MessagesObserverOptions {
  readonly publicModel: string;
  readonly likelyInputTokens?: (() => number) | undefined;
  /** The most tokens that the request can take. */
  readonly tokensMax?: (() => number) | undefined;
}

export class MessagesObserver extends StreamObserver {
  readonly closing = CLOSING;
  finished = false;
  readonly #likelyInputTokens: () => number;
  /** The members of every report so far; a later report overrides an earlier one member by member. */
  #usage: JsonObject | null = null;

  // The findings of the scan of the current frame.
  #type = '';
  #blockType = '';
  #frameUsage: string | null = null;
  /** The scan has left strings to be read with the whole event. */
  #unread = false;
  /** The scan is within the content that a message starts with. */
  #inContent = false;
  /** Bytes of the input that the last block started with; its deltas would repeat them. */
  #startedInput = 0;
  #endsMessage = false;

  constructor({ publicModel, likelyInputTokens, tokensMax }: MessagesObserverOptions) {
    super(publicModel, tokensMax);
    this.#likelyInputTokens = likelyInputTokens ?? (() => 0);
  }

  protected newFrame(frame: FrameView, first: boolean, edits: EditList): Verdict {
    if (!looksLikeObject(frame)) {
      if (dataIs(frame, '[DONE]') || dataIs(frame, '')) return 'neutral';
      return this.fail(brokenStream('The provider sent an event that is not JSON.'));
    }
    const before = this.output.bytes;
    this.scan(frame, edits);
    if (this.error || this.#type === 'error' || (this.code && this.message))
      return this.fail(readFailure(parsedData(frame), first));
    if (this.#frameUsage !== null) this.#report(this.#frameUsage);
    if (this.#unread) this.#countWhole(frame, before);
    switch (this.#type) {
      case 'message_stop':
        return first ? this.fail(brokenStream('The provider sent an empty stream.')) : 'terminal';
      case 'ping':
        return 'neutral';
      case '':
        return first ? this.fail(brokenStream('The provider sent an event that is not a messages event.')) : 'event';
      case 'content_block_start':
        if (this.#blockType === 'server_tool_use' || this.#blockType === 'mcp_tool_use') this.#countCall(frame);
        return 'event';
      case 'message_delta':
        // The usage that it shows has to be counted first.
        return this.#endsMessage && !this.meter().reportedFinal ? 'hold' : 'event';
      case 'content_block_delta':
        this.plainDelta = this.#frameUsage === null;
        return 'event';
      default:
        return 'event';
    }
  }

  protected scan(frame: FrameView, edits: EditList): void {
    const scanner = this.scanner;
    this.#type = eventName(frame);
    this.#blockType = '';
    this.#frameUsage = null;
    this.#unread = false;
    this.#inContent = false;
    this.#endsMessage = false;
    this.beginScan(frame);
    while (scanner.next()) {
      if (scanner.depth === 1) this.#scanTop(scanner);
      else if (scanner.topIs('delta') || scanner.topIs('content_block')) this.#scanContent(scanner);
      else if (scanner.topIs('message')) this.#scanMessage(scanner, edits);
      else this.#scanBeside(scanner);
    }
    scanner.release();
  }

  #scanTop(scanner: MemberScanner): void {
    if (scanner.keyIs('type')) {
      this.#type = scanner.valueText().slice(1, -1);
    } else if (scanner.keyIs('usage') && scanner.opensWith(OPEN_BRACE)) {
      this.#frameUsage = scanner.valueText();
    } else if (scanner.keyIs('error')) {
      this.error ||= isErrorValue(scanner);
      scanner.skip();
    } else if (scanner.keyIs('object')) {
      this.error ||= scanner.stringIs('error');
    } else if (scanner.isString && scanner.keyIs('delta') && KNOWN_EVENTS.has(this.#type)) {
      this.output.count(scanner);
    } else {
      this.code ||= scanner.keyIs('code');
      this.message ||= scanner.keyIs('message') && scanner.isString;
      this.#scanBeside(scanner);
    }
  }

  /** Members in which the events that are known have no text. */
  #scanBeside(scanner: MemberScanner): void {
    if (KNOWN_EVENTS.has(this.#type)) this.beside.visit(scanner);
    else if (isNotText(scanner.key())) scanner.skip();
    else this.#unread ||= scanner.isString;
  }

  #scanMessage(scanner: MemberScanner, edits: EditList): void {
    if (scanner.depth === 2) {
      this.#inContent = scanner.keyIs('content');
      if (scanner.keyIs('model')) this.model.put(scanner, edits);
      else if (scanner.keyIs('usage') && scanner.opensWith(OPEN_BRACE)) this.#scanUsage(scanner, edits);
      else if (!this.#inContent) this.#scanBeside(scanner);
      else if (scanner.isString) this.output.count(scanner);
    } else if (this.#inContent) {
      this.#scanText(scanner);
    } else {
      this.#scanBeside(scanner);
    }
  }

  /** Figures that cannot be are not shown; those of the end replace the ones that are shown instead. */
  #scanUsage(scanner: MemberScanner, edits: EditList): void {
    const text = scanner.valueText();
    this.#frameUsage = text;
    if (!hasNonsense(parseJson(text))) return;
    const shown = writeMessagesTokens({ ...NO_TOKENS, input: this.#likelyInputTokens() });
    edits.replace(scanner.valueStart, scanner.valueStart + text.length, Buffer.from(JSON.stringify(shown)));
  }

  #scanContent(scanner: MemberScanner): void {
    const { isString } = scanner;
    if (isString && scanner.keyIs('partial_json') && this.#startedInput > 0) {
      this.#startedInput = Math.max(0, this.#startedInput - this.output.countBeyond(scanner, this.#startedInput));
    } else if (isString && (scanner.keyIs('text') || scanner.keyIs('thinking') || scanner.keyIs('partial_json'))) {
      this.output.count(scanner);
    } else if (isString && scanner.depth === 2 && scanner.keyIs('name') && scanner.topIs('content_block')) {
      // The tool of a call: no other block has a name.
      this.output.count(scanner);
    } else if (isString && scanner.depth === 2 && scanner.keyIs('stop_reason')) {
      this.finished = true;
      this.#endsMessage = true;
    } else if (scanner.depth === 2 && scanner.keyIs('type') && scanner.topIs('content_block')) {
      this.#blockType = scanner.valueText().slice(1, -1);
      this.#startedInput = 0;
    } else if (!isReturned(this.#blockType)) {
      this.#scanText(scanner);
    }
  }

  /** Whatever the member is called. */
  #scanText(scanner: MemberScanner): void {
    if (scanner.keyIs('input') && scanner.opensWith(OPEN_BRACE)) {
      const json = Buffer.from(scanner.valueText(), 'latin1').toString();
      if (json.length > '{}'.length) this.output.add(json);
      if (scanner.isCutOff) this.output.cutOff();
      this.#startedInput = json.length > '{}'.length ? Buffer.byteLength(json) : 0;
      scanner.skip();
    } else if (isNotText(scanner.key())) {
      scanner.skip();
    } else if (scanner.isString) {
      this.output.count(scanner);
    }
  }

  /** `before`: what was counted before the frame; a part of its text may have been counted since. */
  #countWhole(frame: FrameView, before: number): void {
    const texts = generatedTexts(parsedData(frame));
    this.output.raise(before + bytesOf(texts), texts);
  }

  #countCall(frame: FrameView): void {
    const block = blockOf(frame);
    if (block !== undefined) this.reported.terms.called(hostedCall('messages', block));
  }

  #report(text: string): void {
    const usage = parseJson(text);
    if (!isObject(usage)) return;
    this.#usage = { ...this.#usage, ...withoutNulls(usage) };
    this.reported.terms.take(readMessagesTerms(this.#usage));
    const final = this.#type === 'message_delta' && typeof usage.output_tokens === 'number';
    this.reported.take(readMessagesTokens(this.#usage), final, this.output.bytes);
  }

  showUsage(terminal: Buffer, tokens: TokenCounts): Buffer {
    return rewriteEvents(terminal, (event) => {
      if (event.type !== 'message_delta') return null;
      const { server_tool_use, service_tier } = objectAt(event, 'usage') ?? {};
      return { ...event, usage: { ...writeMessagesTokens(tokens), ...compact({ server_tool_use, service_tier }) } };
    });
  }
}

function blockOf(frame: FrameView): JsonObject | undefined {
  const event = parsedData(frame);
  return isObject(event) ? objectAt(event, 'content_block') : undefined;
}

const FIGURES = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'];

function hasNonsense(usage: Json | undefined): boolean {
  return isObject(usage) && FIGURES.some((name) => figure(usage[name]) === 'insane');
}

function withoutNulls(usage: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null));
}
