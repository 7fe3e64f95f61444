/** A receiver of OTLP over HTTP, as a Collector is one: takes traces and metrics, in JSON or protobuf, or hangs. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';

interface AnyValue {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
}

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: AnyValue }[];
  readonly events: readonly { readonly name: string }[];
  readonly status: { readonly code?: number; readonly message?: string };
}

export interface ReceivedMetric {
  readonly name: string;
  readonly histogram?: { readonly dataPoints: readonly { readonly count: number | string; readonly sum?: number }[] };
  readonly sum?: { readonly dataPoints: readonly { readonly asDouble?: number; readonly asInt?: number }[] };
}

export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  readonly metrics: ReceivedMetric[] = [];
  readonly contentTypes = new Set<string>();
  readonly authorizations = new Set<string>();
  /** The attributes of the last resource. */
  resource: Record<string, unknown> = {};
  calls = 0;
  hanging = false;
  /** It answers when it is told to. */
  slow = false;
  readonly #unanswered: ServerResponse[] = [];
  readonly #watchers = new Set<() => void>();
  /** What it answers instead of taking anything. */
  refusal: number | null = null;
  /** What it says about that which it has taken; all is well without it. */
  remark: string | null = null;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.calls += 1;
      if (this.hanging) return;
      if (this.refusal !== null) {
        request.resume();
        response.writeHead(this.refusal).end('go away');
        return;
      }
      void buffer(request).then((sent) => {
        const type = request.headers['content-type'] ?? '';
        this.contentTypes.add(type);
        this.authorizations.add(String(request.headers.authorization));
        if (type === 'application/json') {
          const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
          this.#take(JSON.parse(body.toString('utf8')));
        }
        for (const watch of [...this.#watchers]) watch();
        if (this.slow) this.#unanswered.push(response);
        else
          response
            .writeHead(200, { 'content-type': type })
            .end(this.remark ?? (type === 'application/json' ? '{}' : undefined));
      });
    });
  }

  static async start(): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resolves when what it has received fits. */
  until(fits: (receiver: this) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const watch = (): void => {
        if (!fits(this)) return;
        this.#watchers.delete(watch);
        resolve();
      };
      this.#watchers.add(watch);
      watch();
    });
  }

  /** What it was slow to answer; from now on it is not. */
  answer(): void {
    this.slow = false;
    for (const response of this.#unanswered.splice(0)) response.writeHead(200).end();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(body: {
    readonly resourceSpans?: readonly {
      readonly resource: Pick<ReceivedSpan, 'attributes'>;
      readonly scopeSpans: readonly { readonly spans: readonly ReceivedSpan[] }[];
    }[];
    readonly resourceMetrics?: readonly {
      readonly scopeMetrics: readonly { readonly metrics: readonly ReceivedMetric[] }[];
    }[];
  }): void {
    for (const { resource, scopeSpans } of body.resourceSpans ?? []) {
      this.resource = attributesOf(resource);
      for (const { spans } of scopeSpans) this.spans.push(...spans);
    }
    for (const { scopeMetrics } of body.resourceMetrics ?? []) {
      for (const { metrics } of scopeMetrics) this.metrics.push(...metrics);
    }
  }
}

/** The attributes of a span or a resource as a plain object. */
export function attributesOf({ attributes }: Pick<ReceivedSpan, 'attributes'>): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ??
        value.doubleValue ??
        value.boolValue ??
        (value.intValue === undefined ? null : Number(value.intValue)),
    ]),
  );
}
