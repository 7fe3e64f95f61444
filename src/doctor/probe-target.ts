/** One target of one model, tried with the smallest possible generation. It costs a little money. */
import { AdminError } from '../admin/error.ts';
import type { Settings } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import type { ModelLists } from '../config/model-lists.ts';
import type { Environment } from '../config/settings.ts';
import type { StoredDefinitions } from '../core/definition.ts';
import { Transports } from '../provider/transports.ts';
import { probe } from './probe.ts';
import type { ProbeReport } from './report.ts';

const TIMEOUT_MS = 30_000;

export interface TargetName {
  readonly model: string;
  readonly provider: string;
  readonly upstream_model: string;
  readonly format: string;
}

export interface ProbeTargetOptions {
  readonly settings: Settings;
  readonly env: Environment;
  readonly sandboxUrl: string;
  readonly lists: ModelLists;
  readonly stored: StoredDefinitions;
}

/** The probe uses the configuration as it is in the files now. */
export async function probeTarget(options: ProbeTargetOptions, wanted: TargetName): Promise<ProbeReport> {
  const { catalog } = await loadConfig(options);
  const model = catalog.models.get(wanted.model);
  if (model === undefined)
    throw new AdminError('invalid_input', `model ${wanted.model} is not in the catalog`, { field: 'model' });
  const target = model.targets.find(
    ({ provider, upstreamModel, format }) =>
      provider === wanted.provider && upstreamModel === wanted.upstream_model && format === wanted.format,
  );
  const provider = catalog.providers.get(wanted.provider);
  if (target === undefined || provider === undefined) {
    const targets = model.targets.map((one) => `${one.upstreamModel} at ${one.provider} (${one.format})`).join(', ');
    throw new AdminError('invalid_input', `model ${model.id} has no such target: it has ${targets}`, {
      field: 'provider',
    });
  }
  const upstream = new Transports();
  try {
    const apiKey = provider.apiKeys[0] ?? null;
    const { check, tookMs } = await probe({ upstream, provider, model, target, apiKey, timeoutMs: TIMEOUT_MS });
    return { ...check, model: target.upstreamModel, format: target.format, took_ms: tookMs };
  } finally {
    await upstream.close();
  }
}
