/** Where traces and metrics are sent, and of how many requests. */
export interface TelemetrySettings {
  /** Null: they are not sent. */
  readonly traces: OtlpTarget | null;
  readonly metrics: OtlpTarget | null;
  readonly serviceName: string;
  readonly resource: Readonly<Record<string, string>>;
  /** Whether the client's own decision counts, and how many of the other requests are sampled. */
  readonly sampler: { readonly parentBased: boolean; readonly ratio: number };
  readonly metricsIntervalMs: number;
}

export interface OtlpTarget {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly protocol: 'http/protobuf' | 'http/json';
  readonly timeoutMs: number;
}
