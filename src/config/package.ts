/**
 * The provider packages that a config file names. The operator installs them, so they are resolved from the
 * folder where the gateway was started, and only when a file names one.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ProviderFactory } from '../core/provider.ts';
import { joinPath } from '../lib/schema-errors.ts';
import type { Problem } from './problem.ts';
import type { FileConfig, FileProvider } from './schema.ts';

/** By the name of the provider. */
export async function loadPackages(
  { providers = {} }: FileConfig,
  problems: Problem[],
): Promise<ReadonlyMap<string, ProviderFactory>> {
  const factories = new Map<string, ProviderFactory>();
  for (const [name, provider] of Object.entries(providers)) {
    if (provider.kind !== 'ai-sdk' || provider.package === undefined) continue;
    const found = await factoryOf(provider.package, provider);
    if (typeof found === 'function') factories.set(name, found);
    else problems.push({ ...found, path: joinPath(joinPath('providers', name), found.path) });
  }
  return factories;
}

async function factoryOf(name: string, { factory }: FileProvider): Promise<ProviderFactory | Problem> {
  const address = resolved(name);
  if (address === null) {
    const message = `the package \`${name}\` is not installed: npm install ${installName(name)}`;
    return { path: 'package', message };
  }
  let exported: Record<string, unknown>;
  try {
    exported = (await import(address)) as Record<string, unknown>;
  } catch (error) {
    return { path: 'package', message: `\`${name}\` cannot be loaded: ${String(error)}` };
  }
  const found = Object.entries(exported).filter(
    (entry): entry is [string, ProviderFactory] => isFactoryName(entry[0]) && typeof entry[1] === 'function',
  );
  if (factory !== undefined) {
    const named = exported[factory];
    if (typeof named === 'function') return named as ProviderFactory;
    return { path: 'factory', message: `\`${name}\` exports no function \`${factory}\`: it exports ${list(found)}` };
  }
  const usual = usualFactory(name, found);
  if (usual) return usual;
  return {
    path: 'factory',
    message: `is missing: \`${name}\` exports ${list(found)}; name the one that creates the provider`,
  };
}

/** Null where it is installed neither in the working directory nor with the gateway. */
function resolved(name: string): string | null {
  for (const from of [join(process.cwd(), 'package.json'), import.meta.filename]) {
    try {
      return pathToFileURL(createRequire(from).resolve(name)).href;
    } catch {
      // Try the next place.
    }
  }
  return null;
}

/** By convention `create` and the name of the provider, sometimes under a second name. */
function usualFactory(
  name: string,
  found: readonly (readonly [string, ProviderFactory])[],
): ProviderFactory | undefined {
  const [first, ...others] = found;
  if (first && others.every(([, factory]) => factory === first[1])) return first[1];
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  const wanted = plain(`create${name.split('/').at(-1) ?? ''}`);
  return found.find(([exported]) => plain(exported) === wanted)?.[1];
}

function isFactoryName(name: string): boolean {
  return /^create[A-Z]/.test(name);
}

function list(found: readonly (readonly [string, ProviderFactory])[]): string {
  return found.length === 0 ? 'none whose name begins with create' : found.map(([name]) => name).join(', ');
}

/** The package of an entry point such as `@ai-sdk/google-vertex/anthropic`. */
function installName(name: string): string {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');
}
