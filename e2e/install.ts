/** Installs the pinned clients: JavaScript by npm into this folder, Python into virtual environments beside it. */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { installLocked, runInstaller } from '../test/agents/install.ts';

const HERE = import.meta.dirname;

export function installNodeClients(): Promise<void> {
  return installLocked(HERE, 'the JavaScript clients');
}

/** The programs whose client wants other versions than the rest have an environment of their own. */
const ENVIRONMENTS: Readonly<Record<string, string>> = {
  instructor_client: 'instructor',
  litellm_client: 'litellm',
  llamaindex_client: 'llamaindex',
  aider: 'aider',
};
/** Resolves and installs in seconds what takes pip half an hour. */
const UV = 'uv==0.13.7';

/** The interpreter with the packages that this program needs, or why there is none. */
export async function installPython(
  program: string,
): Promise<{ readonly python: string } | { readonly reason: string }> {
  const name = ENVIRONMENTS[program] ?? 'sdks';
  const lock = `python/${name}.txt`;
  const wanted = await readFile(join(HERE, lock), 'utf8');
  const root = join(HERE, 'node_modules/.python');
  const python = join(root, name, 'bin/python');
  const done = join(root, name, '.installed');
  if (existsSync(done) && (await readFile(done, 'utf8')) === wanted) return { python };
  try {
    console.log(`Installing the Python clients of ${lock} …`);
    const uv = await installUv(root);
    await runInstaller(uv, ['venv', '--quiet', '--clear', join(root, name)], HERE);
    await runInstaller(uv, ['pip', 'sync', '--quiet', '--python', python, lock], HERE);
    await writeFile(done, wanted);
    return { python };
  } catch (error) {
    return { reason: error instanceof Error ? error.message.replaceAll(/\s+/g, ' ').slice(0, 200) : String(error) };
  }
}

async function installUv(root: string): Promise<string> {
  const uv = join(root, 'tools/bin/uv');
  if (existsSync(uv)) return uv;
  await runInstaller('python3', ['-m', 'venv', join(root, 'tools')], HERE);
  await runInstaller(join(root, 'tools/bin/python'), ['-m', 'pip', 'install', '--quiet', '--no-deps', UV], HERE);
  return uv;
}
