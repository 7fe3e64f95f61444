/** Installs the pinned clients: JavaScript by npm into this folder, Python into virtual environments beside it. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const HERE = import.meta.dirname;
const INSTALL_MS = 600_000;

function run(command: string, args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { cwd: HERE, encoding: 'utf8', timeout: INSTALL_MS });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ${args[0]} failed: ${stderr.trim().slice(-500)}`);
}

/** Only where the lock file has changed since. */
export function installNodeClients(): void {
  const lock = readFileSync(join(HERE, 'package-lock.json'), 'utf8');
  const done = join(HERE, 'node_modules/.installed');
  if (existsSync(done) && readFileSync(done, 'utf8') === lock) return;
  console.log('Installing the JavaScript clients …');
  run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund']);
  writeFileSync(done, lock);
}

/** The programs whose client wants other versions than the rest have an environment of their own. */
const ENVIRONMENTS: Readonly<Record<string, string>> = {
  instructor_client: 'instructor',
  litellm_client: 'litellm',
  aider: 'aider',
};
/** Resolves and installs in seconds what takes pip half an hour. */
const UV = 'uv==0.13.7';

/** The interpreter with the packages that this program needs, or why there is none. */
export function installPython(program: string): { readonly python: string } | { readonly reason: string } {
  const name = ENVIRONMENTS[program] ?? 'sdks';
  const lock = `python/${name}.txt`;
  const wanted = readFileSync(join(HERE, lock), 'utf8');
  const root = join(HERE, 'node_modules/.python');
  const python = join(root, name, 'bin/python');
  const done = join(root, name, '.installed');
  if (existsSync(done) && readFileSync(done, 'utf8') === wanted) return { python };
  try {
    console.log(`Installing the Python clients of ${lock} …`);
    const uv = installUv(root);
    run(uv, ['venv', '--quiet', '--clear', join(root, name)]);
    run(uv, ['pip', 'sync', '--quiet', '--python', python, lock]);
    writeFileSync(done, wanted);
    return { python };
  } catch (error) {
    return { reason: error instanceof Error ? error.message.replaceAll(/\s+/g, ' ').slice(0, 200) : String(error) };
  }
}

function installUv(root: string): string {
  const uv = join(root, 'tools/bin/uv');
  if (existsSync(uv)) return uv;
  run('python3', ['-m', 'venv', join(root, 'tools')]);
  run(join(root, 'tools/bin/python'), ['-m', 'pip', 'install', '--quiet', '--no-deps', UV]);
  return uv;
}
