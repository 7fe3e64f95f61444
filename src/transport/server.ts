/**
 * The port between what is served publicly and HTTP: `http/` knows these types only, and `server/` implements them for
 * HTTP/1.1 and HTTP/2.
 */
import type { RequestFault } from './errors.ts';

/** Flat: name, value, name, value. Names of a response are given in lower case; values are checked when they are sent. */
export type RawHeaders = (string | number)[];

/** The header fields of a request. Names are given in lower case. */
export interface RequestHeaders {
  first(name: string): string | null;
  /** Repeated fields are joined with a comma. */
  get(name: string): string | null;
  repeated(name: string): boolean;
}

/** Takes the content of a request: its pieces, and then one of the two ends. */
export interface BodySink {
  onData(piece: Buffer): void;
  onEnd(): void;
  /** The client closed the connection, or sent a malformed body, or sent it too slowly. */
  onAborted(): void;
}

/** One request whose head has been read and accepted. */
export interface IncomingRequest {
  readonly method: string;
  /** As the client wrote it. */
  readonly target: string;
  /** Without Content-Length, which is `contentBytes`. */
  readonly headers: RequestHeaders;
  /** How many bytes the content is announced to have; null where only its end tells. */
  readonly contentBytes: number | null;
  /** The address of the peer; empty once the connection is closed. */
  readonly remoteAddress: string;
  /** At most once. Sends `100 Continue` where the client waits for it. */
  readBody(sink: BodySink): void;
}

/**
 * The response to one request. After its end, and after the client has closed the connection, its methods do nothing.
 * An array of headers belongs to the response once it has been passed. A header value with a line end or another
 * character that a header cannot have throws a TypeError, and nothing is sent.
 */
export interface ServerResponse {
  /** Whether a status has been given. */
  readonly headersSent: boolean;
  /** Whether the client closed the connection before the response was complete. */
  readonly closed: boolean;
  /** At most one listener, called once; at once when the client has closed already. */
  onClose(listener: () => void): void;
  /** At most one listener, called once. */
  onDrain(listener: () => void): void;
  /** Before the head: the response names a protocol that the client must switch to. HTTP/2 has no such thing. */
  requireUpgrade(protocol: string): void;
  /** A complete response. */
  send(status: number, headers: RawHeaders, content: Uint8Array): void;
  /** The head of a response whose length is not known. It is sent with the first bytes, or by `flushHeaders`. */
  writeHead(status: number, headers: RawHeaders): void;
  flushHeaders(): void;
  /** False when the client reads too slowly: stop until `onDrain`. */
  write(bytes: Buffer): boolean;
  /** The last bytes. A client that has not taken them `lingerMs` later is cut off; without it, waited for. */
  end(bytes: Uint8Array, lingerMs?: number): void;
  /** Breaks the connection or the stream: the client must not take what it has for a complete response. */
  destroy(): void;
}

/** The response to what was refused before it became a request. The connection closes after it. */
export interface Refusal {
  readonly status: number;
  readonly headers: RawHeaders;
  readonly content: Buffer;
}

/** The response to a client that asks for a WebSocket: a refusal like any other, or `accept`. */
export interface UpgradeResponse extends ServerResponse {
  /** Sends the 101. Null where the handshake is not valid, and is to be refused, or the client has gone. */
  accept(headers: RawHeaders, messageBytesMax: number, handler: WebSocketHandler): Promise<WebSocketConnection | null>;
}

/** Told what happens on a WebSocket. */
export interface WebSocketHandler {
  /** A whole message; at most one of a connection in a turn of the event loop. */
  onMessage(content: Buffer, isText: boolean): void;
  /** A frame that cannot be, or a message that is too large: nothing more is read. To be closed with this code, also later. */
  onFault(code: number): void;
  /** Once, as soon as the client has begun to close, or the connection has ended. */
  onClose(): void;
}

/** After its end, and once the client has begun to close, its methods do nothing. */
export interface WebSocketConnection {
  readonly closed: boolean;
  /** What has come since the last whole message. */
  readonly partialBytes: number;
  /** Whether the client reads too slowly: stop until `onDrain`. */
  readonly needsDrain: boolean;
  /** At most one listener, called once; not at all where the connection ends first. */
  onDrain(listener: () => void): void;
  /** One message, as text. */
  send(content: Buffer): void;
  ping(): void;
  /**
   * To be called regularly: pings a client of which nothing was heard, and cuts off one that has not answered since the
   * last time. False where it has, or where a large message has been on its way for longer than `messageMs`.
   */
  check(messageMs: number): boolean;
  close(code: number, reason: string): void;
  destroy(): void;
}

export interface RequestHandler {
  onRequest(request: IncomingRequest, response: ServerResponse): void;
  onUpgrade(request: IncomingRequest, response: UpgradeResponse): void;
  refusal(fault: RequestFault): Refusal;
}

export interface ServerLimits {
  /** From the first byte of a head to its last; also how long a new connection may send nothing. */
  readonly headersTimeoutMs: number;
  /** From the first byte of a request to its last. */
  readonly requestTimeoutMs: number;
  /** How long a connection without a request is kept. */
  readonly keepAliveTimeoutMs: number;
  /** The request line and the header fields together. */
  readonly headerBytes: number;
  readonly headerCount: number;
  /** Connections that are served at the same time; infinite where there is no bound. */
  readonly connections: number;
  /** The same of one address. */
  readonly connectionsPerAddress: number;
}

/** A certificate chain and its private key, both as PEM. */
export interface TlsIdentity {
  readonly cert: string;
  readonly key: string;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Several processes share the port. */
  readonly reusePort?: boolean;
  /** Connections that wait to be accepted. */
  readonly backlog?: number;
}
