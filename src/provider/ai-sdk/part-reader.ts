/** Stream parts of the AI SDK → events of the hub. One per call. */
import type {
  LanguageModelV4FinishReason,
  LanguageModelV4ResponseMetadata,
  LanguageModelV4Source,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import type { FinishReason, TurnEvent } from '../../wire/translate/turn.ts';
import { joinSignatures, type Signatures, seal, signaturesIn } from './signatures.ts';
import { serviceTierOf, tokensOf } from './usage.ts';

type PartOf<Type extends LanguageModelV4StreamPart['type']> = Extract<LanguageModelV4StreamPart, { type: Type }>;

interface OpenCall {
  readonly key: number;
  /** Whether any of its arguments has been written. */
  written: boolean;
  signed: boolean;
}

const REASONS: Readonly<Record<LanguageModelV4FinishReason['unified'], FinishReason | null>> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content-filter',
  'tool-calls': 'tool',
  other: 'other',
  error: null,
  interrupted: null,
};

export class PartReader {
  /** The provider as its package calls it. */
  readonly #provider: string;
  /** The text or reasoning that is being written; another block ends it, whether or not the package says so. */
  #open: { readonly type: 'text' | 'reasoning'; readonly id: string; readonly key: number } | null = null;
  #signatures: Signatures | undefined;
  readonly #calls = new Map<string, OpenCall>();
  /** Sources that came before the text that they belong to. */
  #sources: LanguageModelV4Source[] = [];
  #metadata: LanguageModelV4ResponseMetadata = {};
  #started = false;
  #nextKey = 0;

  constructor(provider: string) {
    this.#provider = provider;
  }

  read(part: LanguageModelV4StreamPart): readonly TurnEvent[] {
    switch (part.type) {
      case 'response-metadata':
        this.#metadata = part;
        return [];
      case 'text-start':
      case 'reasoning-start':
        return this.#begin(part.type === 'text-start' ? 'text' : 'reasoning', part.id, part.providerMetadata);
      case 'text-delta':
      case 'reasoning-delta':
        return this.#delta(part);
      case 'text-end':
      case 'reasoning-end':
        if (this.#open?.id !== part.id) return [];
        this.#sign(part.providerMetadata);
        return this.#closeBlock();
      case 'tool-input-start':
        return part.providerExecuted ? [] : this.#call(part.id, part.toolName, part.providerMetadata);
      case 'tool-input-delta':
        return this.#argue(part.id, part.delta);
      case 'tool-call':
        return part.providerExecuted ? [] : this.#endCall(part);
      case 'source':
        return this.#cite(part);
      case 'file':
        return this.#file(part);
      case 'finish':
        return this.#finish(part);
      case 'error':
        return [{ type: 'failure', error: describe(part.error) }];
      default:
        return [];
    }
  }

  /** An answer begins with its first content: an error that comes before that is a real status for the client. */
  #start(): readonly TurnEvent[] {
    if (this.#started) return [];
    this.#started = true;
    const { id = null, timestamp } = this.#metadata;
    return [{ type: 'start', id, createdS: timestamp ? Math.floor(timestamp.getTime() / 1_000) : null }];
  }

  #begin(type: 'text' | 'reasoning', id: string, metadata: unknown): readonly TurnEvent[] {
    const events = [...this.#start(), ...this.#closeBlock()];
    const key = this.#nextKey++;
    this.#open = { type, id, key };
    this.#sign(metadata);
    if (type === 'reasoning') return [...events, { type: 'reasoning-start', key, origin: 'responses' }];
    const sources = this.#sources.flatMap((source) => annotation(key, source));
    this.#sources = [];
    return [...events, { type: 'text-start', key, kind: 'text' }, ...sources];
  }

  #delta(part: PartOf<'text-delta'> | PartOf<'reasoning-delta'>): readonly TurnEvent[] {
    const type = part.type === 'text-delta' ? 'text' : 'reasoning';
    const events = this.#open?.type === type && this.#open.id === part.id ? [] : this.#begin(type, part.id, undefined);
    this.#sign(part.providerMetadata);
    if (!this.#open || part.delta === '') return events;
    const { key } = this.#open;
    return type === 'text'
      ? [...events, { type: 'text-delta', key, text: part.delta }]
      : [...events, { type: 'reasoning-delta', key, text: part.delta, paragraph: 0 }];
  }

  #sign(metadata: unknown): void {
    this.#signatures = joinSignatures(this.#signatures, signaturesIn(metadata));
  }

  #closeBlock(): readonly TurnEvent[] {
    const open = this.#open;
    const signatures = this.#signatures;
    this.#open = null;
    this.#signatures = undefined;
    if (!open) return [];
    if (open.type === 'text') return [{ type: 'text-end', key: open.key }];
    const encrypted = signatures && seal({ provider: this.#provider, signatures });
    return [{ type: 'reasoning-end', key: open.key, encrypted }];
  }

  #call(id: string, name: string, metadata: unknown): readonly TurnEvent[] {
    const events = [...this.#start(), ...this.#closeBlock()];
    const signature = this.#signedCall(id, metadata);
    const key = this.#nextKey++;
    this.#calls.set(id, { key, written: false, signed: signature.length > 0 });
    return [...events, ...signature, { type: 'tool-start', key, callId: id, tool: { kind: 'function', name } }];
  }

  /** The responses format has no place for a signature at a call, so empty reasoning beside it carries it. */
  #signedCall(callId: string, metadata: unknown): readonly TurnEvent[] {
    const signatures = signaturesIn(metadata);
    if (!signatures) return [];
    const key = this.#nextKey++;
    const encrypted = seal({ provider: this.#provider, callId, signatures });
    return [
      { type: 'reasoning-start', key, origin: 'responses' },
      { type: 'reasoning-end', key, encrypted },
    ];
  }

  #argue(id: string, text: string): readonly TurnEvent[] {
    const call = this.#calls.get(id);
    if (!call || text === '') return [];
    call.written = true;
    return [{ type: 'tool-delta', key: call.key, text }];
  }

  /** A package may tell the arguments piece by piece, or only here. */
  #endCall(part: PartOf<'tool-call'>): readonly TurnEvent[] {
    const events = this.#calls.has(part.toolCallId)
      ? []
      : this.#call(part.toolCallId, part.toolName, part.providerMetadata);
    const call = this.#calls.get(part.toolCallId);
    if (!call) return events;
    this.#calls.delete(part.toolCallId);
    const told = call.written || part.input === '';
    const rest: TurnEvent[] = told ? [] : [{ type: 'tool-delta', key: call.key, text: part.input }];
    const late = call.signed ? [] : this.#signedCall(part.toolCallId, part.providerMetadata);
    return [...events, ...rest, { type: 'tool-end', key: call.key }, ...late];
  }

  #cite(source: LanguageModelV4Source): readonly TurnEvent[] {
    if (this.#open?.type === 'text') return annotation(this.#open.key, source);
    this.#sources.push(source);
    return [];
  }

  /** A generated image, in the terms of the responses format. */
  #file({ mediaType, data }: PartOf<'file'>): readonly TurnEvent[] {
    if (!mediaType.startsWith('image/') || data.type !== 'data') return [];
    const result = typeof data.data === 'string' ? data.data : Buffer.from(data.data).toString('base64');
    const id = `ig_${this.#nextKey++}`;
    const raw = { type: 'image_generation_call', id, status: 'completed', result };
    return [...this.#start(), ...this.#closeBlock(), { type: 'opaque', format: 'responses', raw }];
  }

  #finish({ usage, finishReason, providerMetadata }: PartOf<'finish'>): readonly TurnEvent[] {
    const { unified, raw } = finishReason;
    const reason = REASONS[unified];
    if (reason === null) {
      const message = `the provider ended the answer before it was complete (${raw ?? unified})`;
      return [{ type: 'failure', error: { message } }];
    }
    const events = [...this.#start(), ...this.#closeBlock(), ...this.#endCalls()];
    const tokens = tokensOf(usage);
    if (tokens) events.push({ type: 'usage', tokens, serviceTier: serviceTierOf(providerMetadata) });
    const finish = { type: 'finish', reason, raw: { format: 'responses', value: raw ?? unified } } as const;
    return [...events, finish, { type: 'end' }];
  }

  #endCalls(): readonly TurnEvent[] {
    const ended = [...this.#calls.values()].map(({ key }) => ({ type: 'tool-end', key }) as const);
    this.#calls.clear();
    return ended;
  }
}

function annotation(key: number, source: LanguageModelV4Source): readonly TurnEvent[] {
  if (source.sourceType !== 'url') return [];
  const raw = { type: 'url_citation', url: source.url, title: source.title ?? '', start_index: 0, end_index: 0 };
  return [{ type: 'annotation', key, annotation: { format: 'responses', raw } }];
}

/** The provider's own message about a failure in the middle of an answer, in whatever shape. */
function describe(error: unknown): { readonly message: string; readonly code?: string } {
  if (typeof error === 'string') return { message: error };
  if (typeof error !== 'object' || error === null) return { message: '' };
  const { message, statusCode } = error as { message?: unknown; statusCode?: unknown };
  return {
    message: typeof message === 'string' ? message : '',
    ...(typeof statusCode === 'number' ? { code: String(statusCode) } : {}),
  };
}
