/** Compose, listen, drain: the one place that knows all parts by name. */
import { AdminClient, socketTransport } from '../admin/client.ts';
import { type ConsoleAddress, consoleOrigin } from '../admin/console-address.ts';
import { consoleIsBuilt } from '../admin/console-build.ts';
import { ensureDataDir } from '../admin/data-folder.ts';
import { AdminError } from '../admin/error.ts';
import { AdminServer, listenOnPort } from '../admin/http/server.ts';
import { publicOrigin } from '../admin/public-origin.ts';
import { Requests } from '../admin/requests/requests.ts';
import { adminSecret } from '../admin/secrets.ts';
import { AdminService } from '../admin/service.ts';
import { listenOnSocket, socketPath } from '../admin/socket.ts';
import { Playground } from '../admin/state/playground.ts';
import { Alerts } from '../alerts/alerts.ts';
import type { OwnFiles } from '../alerts/own-files-watch.ts';
import type { Settings } from '../config/config.ts';
import { fileLimitWarning, readFileLimit } from '../config/file-limit.ts';
import { removedVariables } from '../config/removed.ts';
import { type Environment, environmentInForce } from '../config/settings.ts';
import { certificateEndMs, certificateFingerprint, readTls, watchTls } from '../config/tls.ts';
import { isLoopback, trustedProxies } from '../core/client-address.ts';
import { systemClock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { RequestObserver } from '../core/request-record.ts';
import { Audits } from '../ledger/audits.ts';
import { openLog } from '../observe/log.ts';
import { startSandbox } from '../sandbox/server.ts';
import { bannerLines, firstKeys, ownerLink } from './banner.ts';
import { watchClock } from './clock-watch.ts';
import { checkDefinitions, readDefinitions, servedEverywhere } from './definitions.ts';
import { scrape } from './metrics.ts';
import { FRESH_MS, keepModelLists, type ModelListKeeper, refreshModelLists, storedModelLists } from './model-lists.ts';
import { openStore } from './open-store.ts';
import { openOperatorData } from './operators.ts';
import { watchCertificates } from './own-certificates.ts';
import { keepRequestLog, openRequestLog } from './request-log.ts';
import { setV8Flags } from './v8-flags.ts';
import { serveInWorkers } from './worker-pool.ts';

export interface RunningGateway {
  readonly origin: string;
  readonly adminPort: number;
  /** Resolves when a part of the gateway has died, so that it must be closed; never otherwise. */
  readonly broken: Promise<Error>;
  /** Says at `/readyz` that it stops, and serves on until load balancers have had the time to see that. */
  preStop(): Promise<void>;
  /** Takes no new work, lets running exchanges finish within the drain deadline, settles the rest, and closes. */
  close(): Promise<void>;
}

/** The command: starts, tells how to use it, and drains on SIGTERM or SIGINT. */
export async function start(settings: Settings, env: Environment): Promise<void> {
  const log = openLog(settings.logLevel);
  const printed: string[] = [];
  const print = (line: string): number => printed.push(line);
  const running = await startGateway(settings, env, log, print, [], process.stdout.isTTY === true);
  setV8Flags();
  let ending = false;
  let signalled = false;
  let broken = false;
  const end = (first: Promise<void>): void => {
    ending = true;
    const ended = first.then(() => running.close());
    ended.then(
      () => process.exit(broken ? 1 : 0),
      (err: unknown) => {
        log.error({ err }, 'the gateway did not close cleanly');
        process.exit(1);
      },
    );
  };
  // A second signal means: now. SIGINT comes from a terminal, where no load balancer waits.
  const onSignal = (exitCode: number, first: () => Promise<void>): void => {
    if (signalled) process.exit(exitCode);
    signalled = true;
    if (!ending) end(first());
  };
  process.on('SIGINT', () => onSignal(130, async () => {}));
  process.on('SIGTERM', () => onSignal(143, () => running.preStop()));
  // Who reads that it listens may stop it at once, and must find the handlers of its signals.
  process.stdout.write(printed.map((line) => `${line}\n`).join(''));
  void running.broken.then((err) => {
    broken = true;
    log.error({ err }, `the gateway drains and ends: ${err.message}`);
    if (!ending) end(Promise.resolve());
  });
}

/** The embedded store belongs to one process; what serves in several is PostgreSQL. */
function withPossibleWorkers(settings: Settings, log: Log): Settings {
  if (settings.databaseUrl !== null || settings.workers === 1) return settings;
  log.warn(
    { workers: settings.workers },
    'several workers need PostgreSQL: one process serves, as the ledger is in the data folder. To move it: gateway migrate --to postgres',
  );
  return { ...settings, workers: 1 };
}

/** `terminal`: what is printed is read by whoever started it, and by nobody else. */
export async function startGateway(
  asked: Settings,
  env: Environment,
  log: Log,
  print: (line: string) => void,
  observers: readonly RequestObserver[] = [],
  terminal = false,
): Promise<RunningGateway> {
  const settings = withPossibleWorkers(asked, log);
  // Whatever was opened is closed again, last first, when a later part cannot start.
  await using parts = new AsyncDisposableStack();
  await ensureDataDir(settings.dataDir);
  const broken = Promise.withResolvers<Error>();
  const opened = await openStore(settings, broken.resolve, (message) => log.warn({}, message));
  const { ledger, installationSecret: secret } = opened;
  parts.defer(() => ledger.close());
  const sandbox = await startSandbox({ strict: settings.sandboxStrict });
  parts.defer(() => sandbox.close());

  const requestLog = await openRequestLog(settings, log);
  parts.defer(() => requestLog.close());
  const clock = systemClock();
  const data = openOperatorData(settings, secret, clock);
  parts.defer(() => data.close());
  const shared = { settings, env, installationSecret: secret, sandboxUrl: sandbox.url };
  let keeper: ModelListKeeper | null = null;
  const onReload = (): void => keeper?.ask();
  // What serves requests is loaded by the processes that do.
  const serving =
    settings.workers === 1
      ? await (await import('./serve.ts')).serve({
          ...shared,
          log,
          ledger,
          operatorData: data,
          requestLog,
          observers,
          onReload,
        })
      : await serveInWorkers(shared, { log, onReload });
  parts.defer(() => serving.close());
  const kept = keepRequestLog(settings, requestLog.reader, log, () => serving.catalog().requestLog);
  parts.defer(() => kept.close());
  const origin = publicOrigin(settings.host, serving.port, serving.catalog().certificateEndsAtMs !== null);

  const lists = { settings, env, documents: ledger, definitions: () => readDefinitions(settings, data.definitions) };
  const clockWatch = watchClock(clock, log);
  parts.defer(() => clockWatch.close());
  const { adminTls } = settings;
  const adminPem =
    adminTls &&
    (settings.adminSelfSigned
      ? await (await import('./self-signed-tls.ts')).keepSelfSigned(adminTls, settings, clock.nowMs())
      : await readTls(adminTls));
  const adminFiles = { problems: [] as readonly string[], endsAtMs: adminPem && certificateEndMs(adminPem) };
  const ownFiles = (): OwnFiles => {
    const { problems, certificateEndsAtMs } = serving.catalog();
    const ends = { public: certificateEndsAtMs, admin: adminFiles.endsAtMs };
    const certificates = (['public', 'admin'] as const).flatMap((listener) => {
      const endsAtMs = ends[listener];
      return endsAtMs === null ? [] : [{ listener, endsAtMs }];
    });
    return { problems: [...problems, ...adminFiles.problems], certificates };
  };
  const alerts = new Alerts({
    store: data.alertStore,
    ledger,
    trail: data.operators,
    policy: () => serving.catalog().alerts,
    providers: async () => (await serving.inspect()).providers,
    shortfalls: async () => (await serving.inspect()).shortfalls,
    ownFiles,
    installationSecret: secret,
    log,
    nowMs: () => clock.nowMs(),
  });
  parts.defer(() => alerts.close());
  alerts.start();
  const audits = new Audits({
    ledger,
    alerts,
    everyMs: () => serving.catalog().auditEveryMs,
    log,
    nowMs: () => clock.nowMs(),
  });
  parts.defer(() => audits.close());
  audits.start();
  // Its library is loaded only where it is used.
  const oidc = settings.oidc && new (await import('../admin/operators/oidc.ts')).OidcSignIn(settings.oidc, secret);
  const gatewayOrigin = settings.publicUrl ?? origin;
  const playground = new Playground({ ledger, installationSecret: secret, clock, gatewayOrigin, listener: origin });
  parts.defer(() => playground.close());
  let adminPortInUse = settings.adminPort;
  const consoleAddress = (): ConsoleAddress => ({
    origin: consoleOrigin(settings, adminPortInUse),
    fingerprint: settings.adminSelfSigned && adminPem !== null ? certificateFingerprint(adminPem) : null,
  });
  const admin = new AdminService({
    ledger,
    operators: data.operators,
    alerts,
    audits,
    console: consoleAddress,
    gateway: {
      settings: () => environmentInForce(settings, env),
      configuration: () => {
        const { refused, takenAtMs, found } = serving.catalog().reload;
        return { file: settings.configFile, found, taken_at: new Date(takenAtMs).toISOString(), refused };
      },
      inspect: () => serving.inspect(),
      stopRequest: (requestId) => serving.stop(requestId),
      doctor: async (probes) => {
        const { checkAll } = await import('../doctor/doctor.ts');
        const api = new AdminClient(socketTransport(socketPath(settings.dataDir)));
        return checkAll({
          settings,
          env,
          probes,
          connectAdmin: async () => ({
            api,
            isRunning: true,
            definitions: () => readDefinitions(settings, data.definitions),
            close: async () => {},
          }),
        });
      },
      testTarget: async (target) => {
        const { probeTarget } = await import('../doctor/probe-target.ts');
        const stored = await storedModelLists(ledger, log);
        const definitions = await readDefinitions(settings, data.definitions);
        return probeTarget({ settings, env, sandboxUrl: sandbox.url, lists: stored, stored: definitions }, target);
      },
    },
    definitions: {
      store: data.definitions,
      states: async () => (await serving.inspect()).definitions,
      check: async (stored) => {
        const lists = await storedModelLists(ledger, log);
        return checkDefinitions({ settings, env, sandboxUrl: sandbox.url, lists, stored });
      },
      definedBy: async (kind, name) => {
        const { models, providers } = await serving.inspect();
        const found =
          kind === 'model' ? models.find(({ id }) => id === name) : providers.find((one) => one.name === name);
        return found?.defined_by ?? null;
      },
      apply: async () => {
        const problems = await serving.takeDefinitions();
        if (problems.length > 0) {
          throw new AdminError('unavailable', `the change is saved, but not in use: ${problems.join('; ')}`);
        }
        if (settings.databaseUrl === null) return;
        await servedEverywhere(data.definitions, (await data.definitions.all()).revision);
      },
    },
    playground,
    oidc,
    onTrailFailure: (err, { action, target, outcome }) =>
      log.error({ err, action, target, outcome }, 'the audit trail could not be written'),
    refreshModelLists: async () => {
      const report = await refreshModelLists({ ...lists, freshMs: 0 });
      await serving.takeModelLists();
      return report;
    },
    installationSecret: secret,
    clock,
    gatewayOrigin,
    known: () => serving.catalog(),
    statements: async () => serving.catalog().statements,
    requests: new Requests(requestLog.reader, () => serving.running()),
    ready: () => serving.ready(),
    metrics: () =>
      scrape({ settings, serving, ledger, audits, alerts, clock: clockWatch, operators: data.operators, ownFiles }),
  });
  const onSocket = new AdminServer(admin, { secret: null, log });
  const socket = await listenOnSocket(onSocket.server, settings.dataDir, () => onSocket.close());
  parts.defer(() => socket.close());
  const adminPort = await listenOnPort(admin, {
    secret: await adminSecret(settings.dataDir),
    host: settings.adminHost,
    port: settings.adminPort,
    hosts: settings.adminHosts,
    tls: adminPem,
    browsers: adminTls !== null || settings.adminProxy,
    metricsToken: settings.metricsToken,
    proxies: trustedProxies(settings),
    log,
  });
  parts.defer(() => adminPort.close());
  adminPortInUse = adminPort.port;
  if (adminTls !== null && adminPem !== null) {
    const watch = watchTls(
      () => adminTls,
      adminPem,
      (pem) => {
        adminPort.setTlsIdentity(pem);
        adminFiles.endsAtMs = certificateEndMs(pem);
        log.info({}, "the TLS certificate of the operator's listener was reloaded");
      },
      (lines) => {
        adminFiles.problems = lines;
        for (const line of lines) {
          log.error(
            {},
            `the TLS certificate of the operator's listener was not reloaded, the old one stays in use: ${line}`,
          );
        }
      },
    );
    parts.defer(() => watch.close());
  } else if (!isLoopback(settings.adminHost) && !settings.adminProxy) {
    log.warn(
      { adminHost: settings.adminHost },
      "the operator's listener can be reached from other machines and speaks plain HTTP, so it serves the console to this machine, and through a tunnel to it, only: let it make a certificate (GATEWAY_ADMIN_TLS=self-signed), give it yours (GATEWAY_ADMIN_TLS_CERT, GATEWAY_ADMIN_TLS_KEY), or put it behind a proxy with TLS and say so (GATEWAY_ADMIN_PROXY=on)",
    );
  }

  parts.use(
    watchCertificates(
      () => ownFiles().certificates,
      () => clock.nowMs(),
      log,
    ),
  );
  for (const line of removedVariables(env)) log.warn({}, line);
  const fewFiles = fileLimitWarning(readFileLimit());
  if (fewFiles !== null) log.warn({}, fewFiles);
  const { sandbox: withSandbox, sandboxAlone } = serving.catalog();
  // What is not a terminal may be a log, and neither a key that costs money nor a link that signs in belongs in one.
  const showsKeys = terminal || sandboxAlone;
  const keys = showsKeys && (await opened.claimFirstStart()) ? await firstKeys(admin) : null;
  const address = consoleAddress();
  const link = terminal && address.origin !== null ? await ownerLink(admin) : null;
  const info = {
    origin,
    dataDir: settings.dataDir,
    sandbox: withSandbox,
    keys,
    console: address,
    link,
    consoleBuilt: consoleIsBuilt(),
  };
  for (const line of bannerLines(info)) print(line);
  log.info({ origin, adminPort: adminPort.port, models: serving.catalog().models.length }, 'the gateway listens');

  // Nobody waits for providers: until they have answered, published limits and the lists of the last time count.
  keeper = keepModelLists({ ...lists, freshMs: FRESH_MS }, log, () => serving.takeModelLists());
  parts.defer(() => keeper?.close());
  keeper.ask();
  const running = parts.move();
  return {
    origin,
    adminPort: adminPort.port,
    broken: broken.promise,
    preStop: () => {
      log.info({}, 'not ready any more; draining after limits.pre_stop');
      return serving.preStop();
    },
    close: async () => {
      log.info({}, 'draining');
      await serving.drain();
      await running.disposeAsync();
      log.info({}, 'closed');
    },
  };
}
