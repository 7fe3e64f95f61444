/** Providers without a config file: those whose usual variable is set, and model servers on this machine. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Model } from '../core/model.ts';
import type { Provider } from '../core/provider.ts';
import { request } from '../lib/node-http.ts';
import { assembleModel, assembleProvider } from './assemble.ts';
import { buildModel, type CatalogEntries } from './catalog.ts';
import { commonOutputLimit, type FactsContext, listedSource, pricedModelNames, UNKNOWN } from './facts.ts';
import { KNOWN_HOSTS, type KnownHost, LOCAL_SERVERS } from './kinds.ts';
import { type ListedModels, readModelList } from './model-list.ts';
import { targetAt } from './model-patterns.ts';
import { usualNetwork } from './network.ts';
import { isTextModelName } from './price-book.ts';
import type { Secrets } from './secrets.ts';
import { type Environment, SettingError } from './settings.ts';

/** The models that `GET {baseUrl}/models` lists, or null when nothing useful answers in time. */
export type Probe = (baseUrl: string) => Promise<ListedModels | null>;

interface DiscoveryOptions extends FactsContext {
  readonly env: Environment;
  readonly secrets: Secrets;
  /** Null: do not look for local servers. */
  readonly probe: Probe | null;
  /** Our own port, which is never probed. */
  readonly ownPort: number;
  readonly usdPerCredit: number;
}

const PROBE_TIMEOUT_MS = 300;
/** Of a server on this machine; a longer list is of something else. */
const PROBE_BYTES_MAX = 4 * 1024 * 1024;

export async function discover(options: DiscoveryOptions): Promise<CatalogEntries> {
  const providers: Provider[] = [];
  const models: Model[] = [];
  for (const host of KNOWN_HOSTS) {
    const read = options.secrets.variable(host.variable);
    if (read !== null && 'problem' in read) throw new SettingError('', read.problem);
    const apiKey = read?.value.trim();
    if (apiKey === undefined || apiKey === '') continue;
    if (!/^[!-~]+$/.test(apiKey)) {
      throw new SettingError(host.variable, ' is not a key: must be printable ASCII characters without spaces');
    }
    const network = usualNetwork(host.baseUrl, options.env);
    const settings = { kind: host.kind, base_url: host.baseUrl, api_key: apiKey };
    const provider = assembleProvider(host.name, settings, undefined, network);
    providers.push(provider);
    models.push(...hostModels(host, provider, options));
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
      models.push(...localModels(server.name, listed, options));
    }
  }
  return { providers, models };
}

/** Every text model with a price that the price book, the shipped data or the provider's own list has. */
function hostModels(host: KnownHost, provider: Provider, options: DiscoveryOptions): Model[] {
  const providers = new Map([[host.name, provider]]);
  const context = { ...options, weighted: false, publishedNames: true };
  return pricedModelNames(host, provider, options).flatMap((upstreamModel) => {
    const id = `${host.name}/${upstreamModel.replace(/^accounts\/fireworks\/(models|routers)\//, '')}`;
    const model = { id, targets: [targetAt(host.name, host, upstreamModel)] };
    const built = buildModel({ path: id, model, origin: null }, {}, providers, context);
    return 'message' in built ? [] : [built];
  });
}

function localModels(provider: string, listed: ListedModels, { usdPerCredit, now }: DiscoveryOptions): Model[] {
  const source = listedSource(provider, now.getTime());
  return [...listed]
    .filter(([id]) => isTextModelName(id) && /^[!-~]{1,200}$/.test(id))
    .map(([id, { contextWindow, maxOutputTokens }]) => {
      const stated = maxOutputTokens === null ? null : { value: maxOutputTokens, source };
      const limit = commonOutputLimit([{ maxOutputTokens: stated }], contextWindow);
      return assembleModel({
        id: `${provider}/${id}`,
        provider,
        contextWindow,
        maxOutputTokens: limit.value,
        sources: {
          pricing: { kind: 'published', name: 'a model server on this machine', date: null },
          contextWindow: contextWindow === null ? UNKNOWN : source,
          maxOutputTokens: limit.source,
        },
        targets: [{ provider, upstreamModel: id, format: 'chat', weight: 1 }],
        usd: { input: 0, output: 0 },
        usdPerCredit,
      });
    });
}

export async function probeModels(baseUrl: string, timeoutMs = PROBE_TIMEOUT_MS): Promise<ListedModels | null> {
  try {
    const call = request(`${baseUrl}/models`, { signal: AbortSignal.timeout(timeoutMs), agent: false }).end();
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    if (response.statusCode !== 200) {
      response.destroy();
      return null;
    }
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > PROBE_BYTES_MAX) return null;
      chunks.push(chunk);
    }
    return readModelList(Buffer.concat(chunks).toString('utf8'));
  } catch {
    // Nothing listens there, or something else does: no model server either way.
    return null;
  }
}
