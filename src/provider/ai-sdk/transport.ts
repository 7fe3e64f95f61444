/**
 * The transport to providers with a wire format of their own: the AI SDK's package speaks to them, and to the rest of
 * the gateway they look like a server of the responses format. Same contract as the HTTP client.
 */
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { GatewayError } from '../../core/conditions.ts';
import type { Provider } from '../../core/provider.ts';
import { isObject, type JsonObject, parseJson } from '../../lib/json.ts';
import { wholeBytes } from '../../wire/lane.ts';
import { responsesToTurn } from '../../wire/responses/to-turn.ts';
import { AnswerFilter } from '../../wire/translate/answer-filter.ts';
import { toolNames } from '../../wire/translate/tool-names.ts';
import { transportFailure, type UpstreamHandle, type UpstreamListener, type UpstreamPackageCall } from '../upstream.ts';
import { answerWriter } from './answer-writer.ts';
import { writeCallOptions } from './call-options.ts';
import { failureOfPackage, type PackageFailure } from './failure.ts';
import { PackageModels } from './models.ts';
import { PartReader } from './part-reader.ts';
import type { StreamingModel } from './streaming-model.ts';

export class PackageTransport {
  readonly #models = new PackageModels();

  send(call: UpstreamPackageCall, listener: UpstreamListener): UpstreamHandle {
    const exchange = new PackageExchange(call, this.#models, listener);
    // The listener is not called before it has its handle.
    queueMicrotask(() => void exchange.run());
    return exchange;
  }

  close(): Promise<void> {
    return this.#models.close();
  }
}

interface PackageCall {
  readonly options: LanguageModelV4CallOptions;
  /** The client's request, which its answer repeats. */
  readonly body: JsonObject;
  readonly filter: AnswerFilter;
}

class PackageExchange implements UpstreamHandle {
  readonly #call: UpstreamPackageCall;
  readonly #models: PackageModels;
  readonly #listener: UpstreamListener;
  readonly #aborted = new AbortController();
  #ended = false;
  #timer: NodeJS.Timeout | null = null;
  #paused: PromiseWithResolvers<void> | null = null;

  constructor(call: UpstreamPackageCall, models: PackageModels, listener: UpstreamListener) {
    this.#call = call;
    this.#models = models;
    this.#listener = listener;
  }

  pause(): void {
    if (!this.#ended) this.#paused ??= Promise.withResolvers();
  }

  resume(): void {
    this.#paused?.resolve();
    this.#paused = null;
  }

  abort(): void {
    this.#end();
    this.#aborted.abort();
  }

  async run(): Promise<void> {
    const { provider, apiKey, upstreamModel, timeouts } = this.#call;
    try {
      const model = this.#models.model(provider, apiKey, upstreamModel);
      if (!('doStream' in model)) return this.#fail(model);
      const read = await readCall(this.#call, model);
      if (this.#ended) return;
      this.#arm(timeouts.firstByteMs, 'first_byte_timeout');
      // Whole answers are streamed too: the provider's acceptance and its silence show at once, as they do over HTTP.
      const { stream } = await model.doStream({ ...read.options, abortSignal: this.#aborted.signal });
      await this.#answer(stream, read, new PartReader(model.provider));
    } catch (error) {
      this.#fail(failureOfPackage(error));
    }
  }

  async #answer(
    stream: ReadableStream<LanguageModelV4StreamPart>,
    call: PackageCall,
    reader: PartReader,
  ): Promise<void> {
    const writer = answerWriter(call.body);
    if (!this.#ended)
      this.#listener.onHeaders(200, { contentType: writer.contentType, retryAfter: null, requestId: null });
    const parts = stream.getReader();
    // The call ends at once, also where a package does not heed the signal.
    this.#aborted.signal.addEventListener('abort', () => void parts.cancel().catch(() => {}));
    while (!this.#ended) {
      this.#arm(this.#call.timeouts.idleMs, 'idle_timeout');
      const { done, value } = await parts.read();
      this.#disarm();
      if (this.#ended) break;
      if (done) return this.#finish();
      for (const event of reader.read(value)) {
        const bytes = call.filter
          .apply(event)
          .map((shaped) => writer.write(shaped))
          .join('');
        if (bytes !== '' && !this.#ended) this.#listener.onData(Buffer.from(bytes));
        // Whatever a package says after it has failed is ignored.
        if (event.type === 'failure') return this.#finish();
      }
      await this.#paused?.promise;
    }
  }

  #finish(): void {
    if (this.#ended) return;
    this.#end();
    this.#listener.onEnd();
    // Closes the connection where the provider has more to say.
    this.#aborted.abort();
  }

  #fail(failure: PackageFailure): void {
    if (this.#ended) return;
    this.#end();
    this.#aborted.abort();
    if (failure.kind !== 'refused') {
      this.#listener.onFailure(failure);
      return;
    }
    const headers = { contentType: 'application/json', retryAfter: failure.retryAfter, requestId: null };
    this.#listener.onHeaders(failure.status, headers);
    this.#listener.onData(failure.body);
    this.#listener.onEnd();
  }

  #end(): void {
    this.#ended = true;
    this.#disarm();
    this.resume();
  }

  #arm(ms: number, kind: 'first_byte_timeout' | 'idle_timeout'): void {
    this.#disarm();
    this.#timer = setTimeout(() => this.#fail(transportFailure(kind)), ms);
  }

  #disarm(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

/** Throws `GatewayError('invalid_request')` on what the model cannot be given. */
async function readCall({ provider, body: bytes }: UpstreamPackageCall, model: StreamingModel): Promise<PackageCall> {
  const body = parseJson(wholeBytes(bytes).toString());
  if (!isObject(body)) throw new GatewayError('invalid_request', { message: 'The request is not a JSON object.' });
  const turn = responsesToTurn(body);
  // Packages know function tools only, as the chat format does.
  const names = toolNames(turn, 'chat');
  const rules = {
    names,
    provider: model.provider,
    cacheMarks: CACHING_MODELS.test(model.modelId),
    supportedUrls: await model.supportedUrls,
  };
  const options = writeCallOptions(body, turn, rules);
  return {
    options: { ...options, providerOptions: providerOptionsOf(provider) },
    body,
    filter: new AnswerFilter({ names, stop: [], explainsRefusals: false }),
  };
}

/** Packages read what is under their own name; these two would have the provider store every response. */
const NOT_STORED = { openai: { store: false }, azure: { store: false } } as const;

function providerOptionsOf(provider: Provider): NonNullable<LanguageModelV4CallOptions['providerOptions']> {
  const given = (provider.package?.callOptions ?? {}) as NonNullable<LanguageModelV4CallOptions['providerOptions']>;
  if (provider.storesResponses) return given;
  const { openai, azure } = NOT_STORED;
  return { ...given, openai: { ...openai, ...given.openai }, azure: { ...azure, ...given.azure } };
}

/** Models that a prompt can be cached for on request; on Bedrock the others refuse a request with a mark. */
const CACHING_MODELS = /claude|anthropic|nova/i;
