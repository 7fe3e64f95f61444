/** The serving part of a process or worker: configuration, exchanges and the public listener on a given ledger. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Config, Settings } from '../config/config.ts';
import { connectionsWarning, connectionsWithin, readFileLimit } from '../config/file-limit.ts';
import type { Environment } from '../config/settings.ts';
import { readTelemetry } from '../config/telemetry.ts';
import { certificateEndMs, readTls, watchTls } from '../config/tls.ts';
import { trustedProxies } from '../core/client-address.ts';
import { systemClock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { RequestObserver, RunningRequest } from '../core/request-record.ts';
import { ExactCounter } from '../counting/exact-counter.ts';
import type { Gateway } from '../exchange/gateway.ts';
import { InFlight } from '../exchange/in-flight.ts';
import { KeyCache } from '../exchange/key-cache.ts';
import { ReplyBudget } from '../exchange/reply-recorder.ts';
import { RunJournal } from '../exchange/run-journal.ts';
import { Seals } from '../exchange/seals.ts';
import { requestHandler } from '../http/app.ts';
import { ResponseSockets } from '../http/response-sockets.ts';
import type { OwnedLedger } from '../ledger/ledger.ts';
import { startMaintenance } from '../ledger/maintenance.ts';
import { AccessLog } from '../observe/access-log.ts';
import { FailureCounter } from '../observe/failures/counter.ts';
import type { Reading } from '../observe/metrics/reading.ts';
import { observers } from '../observe/observers.ts';
import { RequestLogWriter } from '../observe/request-log/writer.ts';
import { Shortfalls } from '../observe/shortfalls.ts';
import { Transports } from '../provider/transports.ts';
import { newRoutingState } from '../routing/state.ts';
import { HttpServer } from '../transport/server/http-server.ts';
import type { ServerLimits } from '../transport/server.ts';
import { type Inspection, inspect } from './inspect.ts';
import { keyholderPage } from './keyholder.ts';
import { openLiveConfig, type Reload } from './live-config.ts';
import type { OperatorData } from './operators.ts';
import { keepOutputSpeeds } from './output-speeds.ts';
import { Readiness } from './readiness.ts';
import type { OpenRequestLog } from './request-log.ts';
import { ServingMetrics } from './serving-metrics.ts';

/** Clients that connect in the same moment; beyond it, or the system's own bound, they are made to try again. */
const CONNECTIONS_WAITING_MAX = 4_096;

/** What every process of a gateway serves with. */
export interface ServeInput {
  readonly settings: Settings;
  readonly env: Environment;
  readonly installationSecret: string;
  readonly sandboxUrl: string;
}

export interface ServeOptions extends ServeInput {
  readonly log: Log;
  readonly ledger: OwnedLedger;
  readonly operatorData: Pick<OperatorData, 'endedPageSessions' | 'definitions'>;
  readonly requestLog: OpenRequestLog;
  /** Told about every request, beside the request log. */
  readonly observers?: readonly RequestObserver[];
  /** Other workers share the port; 0 is then not possible. */
  readonly reusePort?: boolean;
  /** Told at the start and after each reload. */
  onCatalog?(names: CatalogNames): void;
  /** A changed configuration has been taken into use. */
  onReload?(): void;
}

/** What the operator's side must know of the configuration in use. */
export interface CatalogNames
  extends Pick<Config, 'sandbox' | 'requestLog' | 'statements' | 'alerts' | 'auditEveryMs'> {
  readonly providers: readonly string[];
  readonly models: readonly string[];
  /** There are no other providers: what a key buys is simulated. */
  readonly sandboxAlone: boolean;
  /** Why a changed config file or certificate is not in use; empty where nothing is wrong. */
  readonly problems: readonly string[];
  readonly reload: Reload;
  /** Of the public listener; null where it has no TLS. */
  readonly certificateEndsAtMs: number | null;
}

export interface Serving {
  readonly port: number;
  catalog(): CatalogNames;
  /** The configuration in use, and how its providers do. */
  inspect(): Promise<Inspection>;
  /** Ends a running request; false where there is none with this id. */
  stop(requestId: string): Promise<boolean>;
  /** The requests that hold something now. */
  running(): Promise<readonly RunningRequest[]>;
  /** Takes model lists into use that were stored since; resolves when that is done, or is left to the next look. */
  takeModelLists(): Promise<void>;
  /** Takes what operators have defined into use; what keeps it from that, where something does. */
  takeDefinitions(): Promise<readonly string[]>;
  /** Whether requests should be sent here: the store answers, and no stop has begun. Never rejects. */
  ready(): Promise<boolean>;
  /** Of each worker. Rejects where one of them does not answer. */
  metrics(): Promise<readonly Reading[]>;
  /** From now on it is not ready; resolves when load balancers have had the time to see that. */
  preStop(): Promise<void>;
  /** Takes no new work, lets running exchanges finish within the drain deadline, and settles the rest. */
  drain(): Promise<void>;
  /** After `drain`. What it was given stays open. */
  close(): Promise<void>;
}

export async function serve(options: ServeOptions): Promise<Serving> {
  const { settings, env, log, ledger, installationSecret } = options;
  // Whatever was opened is closed again, last first, when a later part cannot start.
  await using parts = new AsyncDisposableStack();
  const clock = systemClock();
  /** Nothing is told before there is something to tell. */
  let tell = (): void => {};
  const live = await openLiveConfig({
    settings,
    env,
    sandboxUrl: options.sandboxUrl,
    documents: ledger,
    definitions: options.operatorData.definitions,
    clock,
    log,
    onChange: () => tell(),
    onReload: () => options.onReload?.(),
  });
  parts.defer(() => live.close());
  const config = live.inUse;
  /** Why the certificate that was changed since is not in use. */
  let refusedTls: readonly string[] = [];
  let certificateEndsAtMs: number | null = null;
  const names = (): CatalogNames => ({
    ...namesOf(config(), options.sandboxUrl),
    problems: [...live.problems(), ...refusedTls],
    reload: live.reload(),
    certificateEndsAtMs,
  });
  tell = () => options.onCatalog?.(names());
  tell();
  const maintenance = await startMaintenance(ledger, {
    usageKeepMs: () => config().usageKeepMs,
    onError: (err) => log.error({ err }, 'a background step of the ledger failed; this is tried again'),
  });
  parts.defer(() => maintenance.stop());
  const upstream = new Transports();
  parts.defer(() => upstream.close());

  const counter = new ExactCounter({
    waitMs: config().limits.countWaitMs,
    onProblem: (err) => log.warn({ err }, 'a prompt could not be counted exactly'),
  });
  parts.defer(() => counter.close());

  const { appender, reader } = options.requestLog;
  const requestLog = new RequestLogWriter({ appender, log, enabled: () => config().requestLog.enabled });
  parts.defer(() => requestLog.close());
  const failures = new FailureCounter({ sink: appender, log });
  parts.defer(() => failures.close());

  const telemetryTo = readTelemetry(env);
  // Its library is loaded only where a target is configured.
  const telemetry =
    telemetryTo && (await (await import('../observe/telemetry/telemetry.ts')).openTelemetry(telemetryTo, log));
  parts.defer(() => telemetry?.close());

  const metrics = new ServingMetrics(settings.metricsPerKey);
  const shortfalls = new Shortfalls();
  const gateway: Gateway = {
    ledger,
    lease: live.lease,
    clock,
    upstream,
    routing: newRoutingState(clock),
    keys: new KeyCache(ledger, installationSecret),
    seals: new Seals(installationSecret),
    inFlight: new InFlight(ledger),
    counter,
    replyBudget: new ReplyBudget(),
    runs: new RunJournal(ledger, log),
    log,
    observer: observers(
      [
        metrics.requests,
        shortfalls,
        new AccessLog(log, () => config().accessLog),
        requestLog,
        failures,
        ...(telemetry === null ? [] : [telemetry]),
        ...(options.observers ?? []),
      ],
      log,
    ),
    catalog: live.catalog,
    policy: config,
    publicUrl: settings.publicUrl,
  };
  const speeds = await keepOutputSpeeds(gateway.routing.speeds, ledger, log);
  parts.defer(() => speeds.stop());
  let stopping = false;
  let draining = false;
  const readiness = new Readiness({ ledger, serving: () => !stopping && maintenance.healthy });
  const limits = serverLimits(config(), log);
  const tlsFiles = config().tls;
  const tls = tlsFiles && (await readTls(tlsFiles));
  certificateEndsAtMs = tls && certificateEndMs(tls);
  tell();
  const proxies = trustedProxies(settings);
  const pages = keyholderPage({
    gateway,
    ledger,
    installationSecret,
    proxies,
    secure: tls !== null || settings.publicUrl?.startsWith('https:') === true,
    ended: options.operatorData.endedPageSessions,
    requestLog: reader,
  });
  const sockets = new ResponseSockets({ gateway, proxies, connections: limits.connections });
  const handler = requestHandler({
    gateway,
    sockets,
    pages,
    secure: tls !== null,
    headerCount: limits.headerCount,
    proxies,
    corsOrigins: settings.corsOrigins,
    ready: () => readiness.ready(),
    accepting: () => !draining,
  });
  const isProxy = (address: string): boolean => proxies?.trusts(address) === true;
  const server = new HttpServer({ limits, handler, log, tls, isProxy });
  if (tlsFiles !== null && tls !== null) {
    const tlsWatch = watchTls(
      () => config().tls ?? tlsFiles,
      tls,
      (pem) => {
        server.setTlsIdentity(pem);
        certificateEndsAtMs = certificateEndMs(pem);
        tell();
        log.info({}, 'the TLS certificate was reloaded');
      },
      (lines) => {
        refusedTls = lines;
        tell();
        for (const line of lines)
          log.error({}, `the TLS certificate was not reloaded, the old one stays in use: ${line}`);
      },
    );
    parts.defer(() => tlsWatch.close());
  }
  const { reusePort = false } = options;
  const { host } = settings;
  const port = await server.listen({ host, port: settings.port, reusePort, backlog: CONNECTIONS_WAITING_MAX });
  parts.defer(() => {
    server.close();
    server.closeAllConnections();
  });

  const opened = parts.move();
  return {
    port,
    catalog: names,
    running: async () => gateway.inFlight.running(),
    inspect: async () =>
      inspect({ ...config(), catalog: live.catalog() }, gateway.routing, shortfalls.list(clock.nowMs())),
    stop: async (requestId) => gateway.inFlight.stop(requestId),
    takeModelLists: live.takeModelLists,
    takeDefinitions: live.takeDefinitions,
    ready: () => readiness.ready(),
    metrics: async () => [await metrics.reading({ gateway, server, sockets, ledger, requestLog })],
    preStop: async () => {
      stopping = true;
      // A load balancer that keeps connections would send a request just when the drain closes them.
      server.endPersistence();
      await delay(config().limits.preStopMs);
    },
    drain: async () => {
      stopping = true;
      draining = true;
      server.close();
      sockets.drain();
      await gateway.inFlight.drain(config().limits.drainMs, config().limits.settleWaitMs);
    },
    close: () => opened.disposeAsync(),
  };
}

function serverLimits({ limits }: Config, log: Log): ServerLimits {
  const fileLimit = readFileLimit();
  const connections = limits.connections ?? connectionsWithin(fileLimit);
  const warning = connectionsWarning(connections, fileLimit);
  if (warning !== null) log.warn({}, warning);
  return {
    ...limits,
    requestTimeoutMs: limits.bodyTimeoutMs,
    connections,
    connectionsPerAddress: limits.connectionsPerAddress ?? Number.POSITIVE_INFINITY,
  };
}

function namesOf(
  config: Config,
  sandboxUrl: string,
): Omit<CatalogNames, 'problems' | 'reload' | 'certificateEndsAtMs'> {
  const { catalog, sandbox, requestLog, statements, alerts, auditEveryMs } = config;
  const providers = [...catalog.providers.values()];
  return {
    providers: providers.map(({ name }) => name),
    models: [...catalog.models.keys()],
    sandbox,
    sandboxAlone: providers.every(({ baseUrl }) => baseUrl.startsWith(sandboxUrl)),
    requestLog,
    statements,
    alerts,
    auditEveryMs,
  };
}
