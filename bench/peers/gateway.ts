import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { storeFile } from '../../src/admin/data-folder.ts';
import { type Books, type CallerKey, type Cli, field, openBooks, parse, runCli } from '../books.ts';
import { daysAgoMs, GROWN_DAYS, type Growth, growSqlite } from '../grown-ledger.ts';
import { type Adapter, type Launch, originOf, type PeerContext } from '../peer.ts';
import { modelName } from '../requests.ts';

const CHECKOUT = fileURLToPath(new URL('../../', import.meta.url));
const ON_POSTGRES = fileURLToPath(new URL('../gateway-on-postgres.ts', import.meta.url));
/** High enough never to refuse, so that every admission still pays for the rate limit. */
const REQUESTS_PER_MINUTE = 1_000_000;
const CREDITS = 100_000;
const GROWN = { records: 10_000_000, unrolled: 0 };

/** The gateway as shipped: durable ledger, prepaid keys with a rate limit, validation, metering. */
export const gateway = gatewayOf('gateway', CHECKOUT);

/** The same a second time: what two gateways that are alike differ by is the noise of the run. */
export const gatewayAgain = gatewayOf('gateway again', CHECKOUT);

const SILENT = { request_log: { enabled: false }, access_log: false };

/** Without request log and access log; the counters of its metrics cannot be switched off. */
export const gatewaySilent = gatewayOf('gateway silent', CHECKOUT, () => ({ config: SILENT }));
export const gatewaySilentAgain = gatewayOf('gateway silent again', CHECKOUT, () => ({ config: SILENT }));

/** With the request log, metrics and a trace of one request in a hundred; the upstream takes them. */
export const gatewayObserved = gatewayOf('gateway observed', CHECKOUT, (context) => observed(context, '0.01'));
/** With a trace of every request. */
export const gatewayTraced = gatewayOf('gateway traced', CHECKOUT, (context) => observed(context, '1'));

function observed({ upstreamOrigin }: PeerContext, ratio: string): Variant {
  return {
    config: { access_log: false },
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: upstreamOrigin,
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: ratio,
      // Prometheus asks for the metrics; over OTLP they are a setting of their own.
      OTEL_METRICS_EXPORTER: 'none',
    },
  };
}

/** With keys of the lowest of three levels of accounts, each with a cap: every request is admitted and settled at all of them. */
export const gatewayTree = gatewayOf('gateway tree', CHECKOUT, () => ({ tree: true }));

interface Variant {
  readonly tree?: boolean;
  readonly config?: object;
  readonly env?: Readonly<Record<string, string>>;
}

/** `gateway@/path/to/checkout` or `gateway pg@…`: the gateway of another checkout, to measure a change against. */
export function gatewayOfCheckout(name: string): Adapter | null {
  const [, kind, checkout] = /^gateway( pg)?@(.+)$/.exec(name) ?? [];
  if (checkout === undefined) return null;
  return kind === ' pg' ? onPostgres(name, checkout) : gatewayOf(name, checkout);
}

function gatewayOf(name: string, checkout: string, variant: (context: PeerContext) => Variant = () => ({})): Adapter {
  const program = join(checkout, 'bin/gateway.mjs');
  return {
    name,
    missing: () => (existsSync(program) ? null : `${program} is not there`),
    launch: (context) => {
      const { config, env, tree } = variant(context);
      const launch = launched(context, program, config, tree);
      return {
        ...launch,
        env: { ...launch.env, ...env },
        args: [program, 'start'],
        tellsLoopDelay: true,
      };
    },
  };
}

/** The same on PostgreSQL, whose server counts as part of it. */
export const gatewayOnPostgres = onPostgres('gateway pg', CHECKOUT);

/** As `gateway tree`. */
export const gatewayTreeOnPostgres = onPostgres('gateway pg tree', CHECKOUT, true);

function onPostgres(name: string, checkout: string, tree = false): Adapter {
  const program = join(checkout, 'bin/gateway.mjs');
  return {
    name,
    notQuick: true,
    note: `${name} is the gateway on PostgreSQL; its CPU and memory are those of the gateway and the server together`,
    missing: () => (existsSync(program) ? null : `${program} is not there`),
    launch: (context) => ({
      ...launched(context, program, {}, tree),
      args: [ON_POSTGRES, program],
      // What is started is the parent of both.
      tellsLoopDelay: false,
    }),
  };
}

/** The same after a month: 10 million usage records of 100,000 keys. */
export const gatewayGrown: Adapter = {
  ...onGrownBooks('gateway grown', { startMs: daysAgoMs(GROWN_DAYS) }),
  notQuick: true,
  note: 'gateway grown is the gateway on the books of a month: 10 million usage records of 100,000 keys',
};

/** The books are made once, and copied for each start. */
export function onGrownBooks(name: string, growth: Pick<Growth, 'startMs' | 'accounts'>): Adapter {
  return {
    ...gateway,
    name,
    launch: (context) => {
      const launch = gateway.launch(context);
      const data = launch.env?.GATEWAY_DATA ?? '';
      mkdirSync(data, { recursive: true, mode: 0o700 });
      copyFileSync(grownFile({ ...GROWN, ...growth }), storeFile(data));
      // A folder with books, and without the secret that belongs to them, is refused.
      return { ...launch, env: { ...launch.env, GATEWAY_SECRET: '0'.repeat(64) } };
    },
  };
}

function grownFile(growth: Growth): string {
  const { records, accounts = 0, startMs } = growth;
  const file = join(tmpdir(), `bench-grown-${records}-${accounts}-${startMs}.db`);
  if (!existsSync(file)) {
    rmSync(`${file}.part`, { force: true });
    growSqlite(`${file}.part`, growth);
    renameSync(`${file}.part`, file);
  }
  return file;
}

function launched(
  context: PeerContext,
  program: string,
  more: object = {},
  tree = false,
): Omit<Launch, 'args' | 'tellsLoopDelay'> {
  const keys: CallerKey[] = [];
  const origin = originOf(context);
  const configFile = join(context.folder, 'gateway.yaml');
  mkdirSync(context.folder, { recursive: true });
  writeFileSync(configFile, configuration(context, more));
  const env = {
    GATEWAY_HOST: '127.0.0.1',
    GATEWAY_PORT: String(context.port),
    GATEWAY_ADMIN_PORT: String(context.sparePort),
    GATEWAY_DATA: join(context.folder, 'data'),
    GATEWAY_CONFIG: configFile,
    ...(context.tls === null ? {} : { GATEWAY_TLS_CERT: context.tls.cert, GATEWAY_TLS_KEY: context.tls.key }),
  };
  return {
    command: process.execPath,
    env,
    origin,
    readyPath: '/',
    runsOnNode: true,
    headers: (_shape, key) => ({ authorization: `Bearer ${keys[key]?.key ?? ''}` }),
    prepare: () => prepare(origin, context.keys, keys, env, program, tree),
  };
}

async function prepare(
  origin: string,
  wanted: number,
  keys: CallerKey[],
  env: Readonly<Record<string, string>>,
  program: string,
  tree: boolean,
): Promise<Books> {
  const cli: Cli = (args) =>
    runCli(process.execPath, [program, ...args], { PATH: process.env.PATH, HOME: process.env.HOME, ...env });
  const made = async (...args: readonly string[]): Promise<unknown> => {
    const { code, stdout } = await cli([...args, '--json']);
    if (code !== 0) throw new Error(`gateway ${args.join(' ')} failed with exit code ${code}: ${stdout.trim()}`);
    return parse(stdout);
  };
  const payer = tree ? ['--account', await lowestAccount(made)] : ['--credit', String(CREDITS)];
  for (let i = 0; i < wanted; i++) {
    const printed = await made('keys', 'create', '--mode', 'credit', ...payer, '--rpm', String(REQUESTS_PER_MINUTE));
    keys.push({ id: String(field(printed, 'id')), key: String(field(printed, 'key')) });
  }
  return openBooks(origin, keys, cli);
}

/** Of three levels: the root pays, both below it have a cap. */
async function lowestAccount(made: (...args: readonly string[]) => Promise<unknown>): Promise<string> {
  const create = async (...args: readonly string[]): Promise<string> =>
    String(field(await made('accounts', 'create', ...args), 'id'));
  const root = await create('root');
  await made('accounts', 'credit', root, String(CREDITS));
  const team = await create('team', '--parent', root, '--credit-cap', `${CREDITS}/month`);
  return create('project', '--parent', team, '--credit-cap', `${CREDITS}/day`);
}

function configuration({ upstreamOrigin, shapes }: PeerContext, more: object): string {
  const models = new Map(shapes.map((shape) => [modelName(shape), shape]));
  return JSON.stringify(
    {
      ...more,
      providers: {
        chat: { kind: 'openai', base_url: `${upstreamOrigin}/v1`, api_key: 'bench' },
        messages: { kind: 'anthropic', base_url: upstreamOrigin, api_key: 'bench' },
      },
      models: Array.from(models, ([id, shape]) => ({
        id,
        provider: shape.native,
        targets: [{ provider: shape.native, model: id, format: shape.native }],
        context_window: 1_000_000,
        max_output_tokens: 4_096,
        pricing: { input: 1, output: 2 },
        public: true,
      })),
    },
    null,
    2,
  );
}
