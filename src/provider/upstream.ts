/**
 * The upstream client: calls to providers over HTTP, with compressed answers decoded. It knows nothing of formats or
 * money.
 */
import type { Provider, Timeouts } from '../core/provider.ts';
import type { HttpClient } from '../transport/client/http-client.ts';
import type {
  CallFailure,
  CallHandle,
  Destination,
  FailureKind,
  ResponseHeaders,
  ResponseListener,
} from '../transport/client.ts';
import { type ContentDecoder, type DecoderListener, openDecoder } from '../transport/content-decoder.ts';
import type { BodyBytes } from '../wire/lane.ts';

export interface HttpAddress {
  readonly via: 'http';
  readonly destination: Destination;
}

/** The address of a provider that is called through a package in this process. */
export interface PackageAddress {
  readonly via: 'package';
  readonly provider: Provider;
  readonly upstreamModel: string;
  readonly apiKey: string | null;
}

interface Payload {
  readonly body: BodyBytes;
  readonly timeouts: Timeouts;
}

type UpstreamHttpCall = HttpAddress & Payload;
export type UpstreamPackageCall = PackageAddress & Payload;
export type UpstreamCall = UpstreamHttpCall | UpstreamPackageCall;

export interface Upstream {
  send(call: UpstreamCall, listener: UpstreamListener): UpstreamHandle;
}

/** Exactly one of `onEnd` and `onFailure` is called, and nothing after it; nothing at all after `abort`. */
export interface UpstreamListener {
  onHeaders(status: number, headers: UpstreamHeaders): void;
  onData(chunk: Buffer): void;
  onEnd(): void;
  onFailure(failure: TransportFailure): void;
}

export interface UpstreamHeaders {
  readonly contentType: string;
  readonly retryAfter: string | null;
  /** The provider's own id of the call, where it names one. */
  readonly requestId: string | null;
}

export interface TransportFailure {
  /** `undecodable`: the content is in an encoding that is not known, or not what it says. */
  readonly kind: FailureKind | 'undecodable';
  readonly message: string;
  /** For the operator's log alone. */
  readonly detail?: string | null;
}

/** `abort` closes the connection to the provider at once, in whatever state the call is. */
export type UpstreamHandle = CallHandle;

export function sendOverHttp(client: HttpClient, call: UpstreamHttpCall, listener: UpstreamListener): UpstreamHandle {
  const exchange = new UpstreamExchange(listener);
  exchange.begin(client.send(call, exchange));
  return exchange;
}

/** One call: passes its response on to the listener, through a decoder where it is encoded. */
class UpstreamExchange implements ResponseListener, DecoderListener, UpstreamHandle {
  readonly #listener: UpstreamListener;
  #handle: CallHandle | null = null;
  #decoder: ContentDecoder | null = null;
  /** The listener holds the response up. */
  #paused = false;
  /** The decoder has more than it can take. */
  #full = false;

  constructor(listener: UpstreamListener) {
    this.#listener = listener;
  }

  begin(handle: CallHandle): void {
    this.#handle = handle;
  }

  pause(): void {
    this.#paused = true;
    this.#decoder?.pause();
    this.#handle?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#decoder?.resume();
    if (!this.#full) this.#handle?.resume();
  }

  abort(): void {
    this.#decoder?.destroy();
    this.#handle?.abort();
  }

  onHead(status: number, headers: ResponseHeaders): void {
    const encoding = headers.first('content-encoding');
    if (encoding !== null && encoding !== '' && encoding.toLowerCase() !== 'identity') {
      this.#decoder = openDecoder(encoding, this);
      if (this.#decoder === null) {
        this.abort();
        this.#listener.onFailure(UNKNOWN_ENCODING);
        return;
      }
    }
    this.#listener.onHeaders(status, {
      contentType: headers.first('content-type') ?? '',
      retryAfter: headers.first('retry-after'),
      requestId: requestIdIn(headers),
    });
  }

  onData(chunk: Buffer): void {
    if (this.#decoder === null) {
      this.#listener.onData(chunk);
    } else if (!this.#decoder.write(chunk)) {
      this.#full = true;
      this.#handle?.pause();
    }
  }

  onEnd(): void {
    if (this.#decoder === null) this.#listener.onEnd();
    else this.#decoder.end();
  }

  onFailure({ kind, code, detail }: CallFailure): void {
    const failure = { ...transportFailure(kind, code), detail };
    if (this.#decoder === null) this.#listener.onFailure(failure);
    // Data that has arrived is passed on first.
    else this.#decoder.flush(() => this.#listener.onFailure(failure));
  }

  onDecoded(chunk: Buffer): void {
    this.#listener.onData(chunk);
  }

  onDrain(): void {
    this.#full = false;
    if (!this.#paused) this.#handle?.resume();
  }

  onDecodedEnd(): void {
    this.#listener.onEnd();
  }

  onDecodeError(): void {
    this.#handle?.abort();
    this.#listener.onFailure(NOT_AS_ENCODED);
  }
}

const ID_CHARACTERS_MAX = 200;

/** The provider's id of the request, by the names that OpenAI and those like it, Anthropic, Bedrock and Azure use. */
function requestIdIn(headers: ResponseHeaders): string | null {
  const id =
    headers.first('x-request-id') ??
    headers.first('request-id') ??
    headers.first('x-amzn-requestid') ??
    headers.first('apim-request-id');
  return id === null ? null : id.slice(0, ID_CHARACTERS_MAX);
}

const UNKNOWN_ENCODING: TransportFailure = {
  kind: 'undecodable',
  message: 'the provider answered in a content encoding that is not known',
};
const NOT_AS_ENCODED: TransportFailure = {
  kind: 'undecodable',
  message: 'the answer of the provider does not match its content encoding',
};

/** `code`: the system's name for the cause. */
export function transportFailure(kind: FailureKind, code = ''): TransportFailure {
  return { kind, message: MESSAGES[kind](code) };
}

const MESSAGES: Readonly<Record<FailureKind, (code: string) => string>> = {
  unreachable: (code) => `the provider cannot be reached (${code})`,
  proxy_refused: () => 'the provider cannot be reached: the proxy of this gateway refuses',
  connect_timeout: () => 'no connection to the provider within the connect time-out',
  first_byte_timeout: () => 'the provider sent no answer within the first-byte time-out',
  idle_timeout: () => 'the provider fell silent for longer than the idle time-out',
  broken: (code) => `the connection to the provider broke (${code})`,
};
