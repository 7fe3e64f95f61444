/** Without configured providers: those whose usual variable is set, and model servers that answer on this machine. */
import type { Format } from '../core/endpoints.ts';
import type { Model } from '../core/model.ts';
import type { Provider } from '../core/provider.ts';
import { assembleModel, assembleProvider } from './assemble.ts';
import { KNOWN_HOSTS, type KnownHost, LOCAL_SERVERS } from './kinds.ts';
import { usualNetwork } from './network.ts';
import { isTextModelName, knownTextModels } from './price-book.ts';
import { type Environment, SettingError } from './settings.ts';

export interface ListedModel {
  readonly id: string;
  readonly contextWindow: number | null;
}

/** The models that `GET {baseUrl}/models` lists, or null when nothing useful answers in time. */
export type Probe = (baseUrl: string) => Promise<readonly ListedModel[] | null>;

export interface Discovery {
  readonly providers: readonly Provider[];
  readonly models: readonly Model[];
}

export interface DiscoveryOptions {
  readonly env: Environment;
  /** Null: do not look for local servers. */
  readonly probe: Probe | null;
  /** Our own port, which is never probed. */
  readonly ownPort: number;
  readonly usdPerCredit: number;
  readonly now: Date;
}

const PROBE_TIMEOUT_MS = 300;
const LISTED_MAX = 1000;

export async function discover(options: DiscoveryOptions): Promise<Discovery> {
  const providers: Provider[] = [];
  const models: Model[] = [];
  for (const host of KNOWN_HOSTS) {
    const apiKey = options.env[host.variable]?.trim();
    if (apiKey === undefined || apiKey === '') continue;
    if (!/^[!-~]+$/.test(apiKey)) {
      throw new SettingError(host.variable, ' is not a key: must be printable ASCII characters without spaces');
    }
    const provider = { kind: host.kind, base_url: host.baseUrl, api_key: apiKey };
    const network = usualNetwork(host.baseUrl, options.env);
    providers.push(assembleProvider(host.name, provider, undefined, network));
    models.push(...hostModels(host, options));
  }
  const { probe } = options;
  if (probe !== null) {
    const servers = LOCAL_SERVERS.filter(({ baseUrl }) => Number(new URL(baseUrl).port) !== options.ownPort);
    const listings = await Promise.all(
      servers.map(async (server) => ({ server, listed: await probe(server.baseUrl) })),
    );
    for (const { server, listed } of listings) {
      if (listed === null) continue;
      providers.push(assembleProvider(server.name, { kind: 'openai', base_url: server.baseUrl }));
      models.push(...localModels(server.name, listed, options.usdPerCredit));
    }
  }
  return { providers, models };
}

function hostModels(host: KnownHost, { usdPerCredit, now }: DiscoveryOptions): Model[] {
  return knownTextModels(host.priceBook, now)
    .filter(({ upstreamModel }) => host.serves.test(upstreamModel))
    .map(({ upstreamModel, model }) =>
      assembleModel({
        id: `${host.name}/${upstreamModel.replace(/^accounts\/fireworks\/(models|routers)\//, '')}`,
        displayName: model.name,
        provider: host.name,
        contextWindow: model.contextWindow,
        targets: formatsOf(host, upstreamModel).map((format) => ({
          provider: host.name,
          upstreamModel,
          format,
          weight: 1,
        })),
        usd: model.pricing,
        usdPerCredit,
      }),
    );
}

function formatsOf(host: KnownHost, upstreamModel: string): readonly Format[] {
  return host.responsesOnly?.test(upstreamModel) === true ? ['responses'] : host.formats;
}

function localModels(provider: string, listed: readonly ListedModel[], usdPerCredit: number): Model[] {
  return listed
    .filter(({ id }) => isTextModelName(id))
    .map(({ id, contextWindow }) =>
      assembleModel({
        id: `${provider}/${id}`,
        provider,
        contextWindow,
        targets: [{ provider, upstreamModel: id, format: 'chat', weight: 1 }],
        usd: { input: 0, output: 0 },
        usdPerCredit,
      }),
    );
}

export async function probeModels(baseUrl: string): Promise<readonly ListedModel[] | null> {
  try {
    const response = await fetch(`${baseUrl}/models`, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    if (!response.ok) return null;
    return listedModels(await response.json());
  } catch {
    // Nothing listens there, or something else does: both mean that there is no model server.
    return null;
  }
}

function listedModels(body: unknown): ListedModel[] | null {
  if (typeof body !== 'object' || body === null || !('data' in body) || !Array.isArray(body.data)) return null;
  const listed = new Map<string, ListedModel>();
  for (const entry of body.data.slice(0, LISTED_MAX) as unknown[]) {
    if (typeof entry !== 'object' || entry === null || !('id' in entry)) continue;
    const { id } = entry;
    if (typeof id !== 'string' || !/^[!-~]{1,200}$/.test(id)) continue;
    const length = 'max_model_len' in entry ? entry.max_model_len : null;
    const known = typeof length === 'number' && Number.isSafeInteger(length) && length > 0;
    listed.set(id, { id, contextWindow: known ? length : null });
  }
  return listed.size === 0 ? null : [...listed.values()];
}
