/** The language models of provider packages. */
import type { LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider';
import type { fetch } from 'undici';
import type { Provider } from '../../core/provider.ts';
import { getOrInsert } from '../../lib/get-or-insert.ts';
import { Dispatchers } from '../dispatchers.ts';
import type { TransportFailure } from '../upstream.ts';
import type { StreamingModel } from './streaming-model.ts';
import { streamingV3 } from './v3.ts';

/** The result of a package's factory: a function in older packages, an object with models in newer ones. */
interface SdkProvider {
  (modelId: string): unknown;
  languageModel?(modelId: string): unknown;
}

type SdkModel = LanguageModelV3 | LanguageModelV4 | { readonly specificationVersion?: undefined };

export class PackageModels {
  /** Kept as long as the provider of a configuration: packages cache what they sign in with. */
  readonly #made = new WeakMap<Provider, Map<string, SdkProvider>>();
  readonly #dispatchers = new Dispatchers();

  /** A failure where the package is of another time than this gateway. */
  model(provider: Provider, apiKey: string | null, modelId: string): StreamingModel | TransportFailure {
    const sdk = this.#provider(provider, apiKey);
    const model = (sdk.languageModel ? sdk.languageModel(modelId) : sdk(modelId)) as SdkModel | null;
    if (model?.specificationVersion === 'v4') return model;
    if (model?.specificationVersion === 'v3') return streamingV3(model);
    const name = provider.package?.name ?? provider.name;
    const message = `the package ${name} does not offer the interface v3 or v4 of the AI SDK`;
    return { kind: 'unreachable', message };
  }

  close(): Promise<void> {
    return this.#dispatchers.close();
  }

  #provider(provider: Provider, apiKey: string | null): SdkProvider {
    const made = getOrInsert(this.#made, provider, () => new Map<string, SdkProvider>());
    return getOrInsert(made, apiKey ?? '', () => {
      if (!provider.package) throw new Error(`provider ${provider.name} has no package`);
      return provider.package.create(this.#settings(provider, apiKey)) as SdkProvider;
    });
  }

  #settings(provider: Provider, apiKey: string | null): Record<string, unknown> {
    const dispatcher = this.#dispatchers.of(provider.network, provider.timeouts.connectMs);
    // Loaded with the first call: no other provider needs undici's fetch.
    const send: typeof fetch = async (input, init) => (await import('undici')).fetch(input, { ...init, dispatcher });
    return {
      ...provider.options,
      ...(provider.baseUrl === '' ? {} : { baseURL: provider.baseUrl }),
      ...(apiKey === null ? {} : { apiKey }),
      ...(Object.keys(provider.headers).length === 0 ? {} : { headers: provider.headers }),
      fetch: send,
    };
  }
}
