/**
 * Builds the root file system of an image in a folder, by the steps of its Dockerfile: a path `/x` of the image is `FOLDER/x`. The
 * programs of the base image are those of this machine. It knows the instructions that deploy/Dockerfile uses and no others.
 */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface BuiltImage {
  /** The folder that is the root of its file system. */
  readonly folder: string;
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  /** `1000:1000` */
  readonly user: string;
  readonly command: readonly string[];
  readonly healthcheck: readonly string[];
  /** What each `RUN` took. */
  readonly steps: readonly { readonly step: string; readonly ms: number }[];
}

interface Stage {
  readonly folder: string;
  workdir: string;
  readonly env: Record<string, string>;
  user: string;
  entrypoint: readonly string[];
  cmd: readonly string[];
  healthcheck: readonly string[];
}

export async function buildImage(context: string, dockerfile: string, folder: string): Promise<BuiltImage> {
  const ignored = ignoredBy(`${dockerfile}.dockerignore`);
  const stages = new Map<string, Stage>();
  const steps: { step: string; ms: number }[] = [];
  let stage: Stage | null = null;
  for (const [instruction, rest] of instructionsOf(readFileSync(dockerfile, 'utf8'))) {
    if (instruction === 'FROM') {
      const name = / AS (\w+)$/.exec(rest)?.[1] ?? 'final';
      stage = newStage(join(folder, name));
      stages.set(name, stage);
      continue;
    }
    if (instruction === 'ARG') {
      const [name = '', value = ''] = rest.split('=');
      if (stage !== null) stage.env[name] = value;
      continue;
    }
    if (stage === null) throw new Error(`${instruction} before FROM`);
    switch (instruction) {
      case 'WORKDIR':
        stage.workdir = rest;
        mkdirSync(join(stage.folder, rest), { recursive: true });
        break;
      case 'ENV':
        for (const [, name = '', value = ''] of rest.matchAll(/(\w+)=(\S+)/g)) stage.env[name] = value;
        break;
      case 'COPY':
        copy(rest, stage, { context, stages, ignored });
        break;
      case 'RUN':
        steps.push(await runStep(rest, stage));
        break;
      case 'USER':
        stage.user = rest;
        break;
      case 'ENTRYPOINT':
        stage.entrypoint = JSON.parse(rest) as string[];
        break;
      case 'CMD':
        stage.cmd = JSON.parse(rest) as string[];
        break;
      case 'HEALTHCHECK':
        stage.healthcheck = JSON.parse(rest.replace(/^.*?CMD /, '')) as string[];
        break;
      case 'VOLUME':
      case 'EXPOSE':
        break;
      default:
        throw new Error(`${instruction} is not known here`);
    }
  }
  const final = stages.get('final');
  if (final === undefined) throw new Error('the Dockerfile has no last stage');
  const { workdir, env, user, healthcheck } = final;
  return {
    folder: final.folder,
    workdir,
    env,
    user,
    command: [...final.entrypoint, ...final.cmd],
    healthcheck,
    steps,
  };
}

function newStage(folder: string): Stage {
  mkdirSync(folder, { recursive: true });
  return { folder, workdir: '/', env: {}, user: '0:0', entrypoint: [], cmd: [], healthcheck: [] };
}

function instructionsOf(text: string): (readonly [string, string])[] {
  return text
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, instruction = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
      return [instruction, rest] as const;
    });
}

/** Everything, except what a line with `!` names, except what a later line takes back. */
function ignoredBy(file: string): (path: string) => boolean {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  const within = (path: string, name: string): boolean => path === name || path.startsWith(`${name}/`);
  return (path) => {
    let ignored = false;
    for (const line of lines) {
      if (line === '*' || within(path, line)) ignored = true;
      else if (line.startsWith('!') && within(path, line.slice(1))) ignored = false;
    }
    return ignored;
  };
}

interface CopyFrom {
  readonly context: string;
  readonly stages: ReadonlyMap<string, Stage>;
  ignored(path: string): boolean;
}

function copy(rest: string, stage: Stage, { context, stages, ignored }: CopyFrom): void {
  const [, from, paths = ''] = /^(?:--from=(\w+) )?(.*)$/.exec(rest) ?? [];
  const words = paths.split(/\s+/);
  const target = join(stage.folder, stage.workdir, words.at(-1) ?? '');
  for (const source of words.slice(0, -1)) {
    const origin = from === undefined ? join(context, source) : join(stages.get(from)?.folder ?? '', source);
    if (from === undefined && ignored(source)) throw new Error(`${source} is not in the context`);
    if (!existsSync(origin)) throw new Error(`COPY ${source}: it does not exist`);
    const into = words.at(-1)?.endsWith('/') === true;
    const relative = (path: string): string => path.slice(context.length + 1);
    cpSync(origin, into ? join(target, source.split('/').at(-1) ?? '') : target, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => from !== undefined || !ignored(relative(path)),
    });
  }
}

async function runStep(step: string, stage: Stage): Promise<{ step: string; ms: number }> {
  // Absolute paths of the image; a flag with a path has none here.
  const command = step.replaceAll(/(?<=\s)\/(?=\w)/g, `${stage.folder}/`);
  const begin = performance.now();
  await run('sh', ['-c', command], {
    cwd: join(stage.folder, stage.workdir),
    env: {
      HOME: process.env.HOME,
      npm_config_prefer_offline: 'true',
      ...stage.env,
      PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
    },
    maxBuffer: 64 * 1024 * 1024,
  });
  return { step, ms: performance.now() - begin };
}
