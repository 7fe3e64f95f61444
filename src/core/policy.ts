/** What the operator decided about limits, streams and routing; one value per process, replaced as a whole on reload. */

export interface Limits {
  readonly bodyBytes: number;
  /** Values in the JSON of one body, at every depth. */
  readonly jsonValues: number;
  readonly replyBytes: number;
  /** The process's budget for buffers of replies that are kept for idempotent replay. */
  readonly replyBufferBytes: number;
  readonly settleWaitMs: number;
  /** For an exact count of a prompt, where the answer depends on it. */
  readonly countWaitMs: number;
  /** How long a gateway that was told to stop says so at `/readyz` before it takes no new work. */
  readonly preStopMs: number;
  readonly drainMs: number;
  /** How long a client may take to send the headers of a request, and to send all of it. */
  readonly headersTimeoutMs: number;
  readonly bodyTimeoutMs: number;
  /** How long a connection without a request is kept. */
  readonly keepAliveTimeoutMs: number;
  readonly headerBytes: number;
  readonly headerCount: number;
  /** Null: what the limit of open files leaves. */
  readonly connections: number | null;
  /** Null: as many as there may be in all. */
  readonly connectionsPerAddress: number | null;
}

export interface StreamSettings {
  /** Total time of a stream, from acceptance. */
  readonly totalMs: number;
  /** Keep-alives after this much silence; 0 switches them off. */
  readonly keepAliveMs: number;
  /** After the provider's 2xx headers without an event: then the 200 is sent and keep-alives begin. */
  readonly headersWaitMs: number;
  /** How long a stream that has outrun its hold waits for other requests' holds to end, before it is ended itself. */
  readonly holdWaitMs: number;
}

export interface Routing {
  /** How long all attempts before the first byte to the client may take together. */
  readonly attemptBudgetMs: number;
  readonly maxAttempts: number;
  readonly order: 'listed' | 'weighted' | 'least-latency';
  /** Whether the requests of a conversation go to the same target and credential while these are healthy. */
  readonly cacheAffinity: boolean;
}

/** Responses that are kept for the keys that received them, so that later requests can refer to them. */
export interface ResponseStorage {
  readonly store: boolean;
  /** Since they were last used. */
  readonly keepMs: number;
  /** The most that one of them may have, and all of a key together. */
  readonly recordBytes: number;
  readonly keyBytes: number;
}

/** What is kept of every request. */
export interface RequestLogPolicy {
  readonly enabled: boolean;
  readonly keepMs: number;
  readonly maxBytes: number;
  readonly clientAddress: boolean;
}

/** Who is told of what, without asking. */
export interface AlertPolicy {
  readonly webhooks: readonly ConfiguredWebhook[];
  /** The program and its arguments; null: none. */
  readonly command: readonly string[] | null;
  /** Where the program is looked for. */
  readonly commandPath: string;
  /** Whether the webhooks above may lead to this machine or into a private network. */
  readonly allowPrivate: boolean;
  /** The same for the webhooks of accounts, which their holders set. */
  readonly accountsAllowPrivate: boolean;
  /** Authorities that may sign the certificates of webhooks besides the usual ones, PEM; null: no others. */
  readonly ca: string | null;
}

export interface ConfiguredWebhook {
  readonly name: string;
  readonly url: string;
  readonly secret: string;
  /** The types of alerts that it gets; null: all of them. */
  readonly types: readonly string[] | null;
}

export interface Policy {
  readonly limits: Limits;
  readonly usdPerCredit: number;
  readonly streams: StreamSettings;
  readonly holds: 'full' | 'elastic';
  /** Ids of keys whose streams have elastic holds whatever `holds` says. */
  readonly elasticKeys: readonly string[];
  readonly routing: Routing;
  readonly responses: ResponseStorage;
  readonly requestLog: RequestLogPolicy;
  /** Whether each request is a line of the process's log. */
  readonly accessLog: boolean;
  /** Null: nothing is watched. */
  readonly alerts: AlertPolicy | null;
  /** How often the ledger is audited; null: only on request. */
  readonly auditEveryMs: number | null;
  /** Whether key holders can look at their own key in a browser, at `/account`. */
  readonly accountPage: boolean;
}
