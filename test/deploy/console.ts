/**
 * The console opens where the files of deploy/ put it: a gateway with the environment that each of them gives it, in a network
 * namespace of its own, and a browser outside of it (a published port) or at its loopback interface (a tunnel).
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { root } from './tools.ts';

type Variables = Readonly<Record<string, string>>;

const NAMESPACE = `gateway-${process.pid}`;
const OUTSIDE = '10.213.77.1';
const INSIDE = '10.213.77.2';
const signInProgram = join(import.meta.dirname, 'sign-in.ts');

const read = (file: string): string => readFileSync(join(root, 'deploy', file), 'utf8');

function ofImage(): Variables {
  const [, words = ''] = /^ENV ((?:.*\\\n)*.*)$/m.exec(read('Dockerfile')) ?? [];
  return Object.fromEntries([...words.matchAll(/(\w+)=([^\s\\]+)/g)].map(([, name = '', value = '']) => [name, value]));
}

function ofCompose(): Variables {
  const { services } = parse(read('compose.yaml'), { merge: true }) as {
    services: Record<string, { environment: Record<string, string> }>;
  };
  const given = Object.entries(services['gateway-1']?.environment ?? {});
  const withDefaults = given.map(([name, value]) => [name, value.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1')]);
  return { ...ofImage(), ...Object.fromEntries(withDefaults) };
}

function ofKubernetes(): Variables {
  const documents = parseAllDocuments(read('kubernetes/model-gateway.yaml')).map((document) => document.toJS());
  const deployment = documents.find(({ kind }) => kind === 'Deployment');
  const env = deployment.spec.template.spec.containers[0].env as { name: string; value: string }[];
  return { ...ofImage(), ...Object.fromEntries(env.map(({ name, value }) => [name, value])) };
}

function ofUnit(): Variables {
  const [, words = ''] = /^Environment=(.*)$/m.exec(read('model-gateway.service')) ?? [];
  return Object.fromEntries(words.split(' ').map((word) => word.split('=', 2) as [string, string]));
}

/** The database, secrets and files of the installation are not what is tried here. */
function withoutFiles(variables: Variables, data: string): Variables {
  const kept = Object.entries(variables).filter(
    ([name]) => !/_FILE$|^DATABASE_URL$|^GATEWAY_CONFIG$|^OTEL_/.test(name),
  );
  return { ...Object.fromEntries(kept), GATEWAY_DATA: data, GATEWAY_DISCOVER_LOCAL: 'off', GATEWAY_LOG: 'warn' };
}

interface SignedIn {
  readonly page: number;
  readonly session: number;
  readonly who: number;
  readonly fingerprint: string | null;
  readonly said: string;
}

interface Tried {
  /** What `gateway operators link` printed. */
  readonly printed: readonly string[];
  outside(): SignedIn;
  /** The exit code of the image's health check. */
  health(): number | null;
  atLoopback(): SignedIn;
}

async function started(variables: Variables, use: (tried: Tried) => void): Promise<void> {
  const env = { PATH: process.env.PATH, ...withoutFiles(variables, temporaryFolder('gateway-console')) };
  const node = process.execPath;
  const gateway = ['netns', 'exec', NAMESPACE, node, join(root, 'bin/gateway.mjs')];
  const child = spawn('ip', [...gateway, 'start'], {
    cwd: temporaryFolder(),
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const gone = once(child, 'exit');
  try {
    let output = '';
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      output += chunk.toString();
      if (/Console: /.test(output)) break;
    }
    const link = (): string[] =>
      execFileSync('ip', [...gateway, 'operators', 'link'], { env })
        .toString()
        .trim()
        .split('\n');
    const signIn = (address: string, within: readonly string[]): SignedIn => {
      const [url = ''] = link();
      const [program = '', ...args] = [...within, node, signInProgram, url, address];
      return JSON.parse(execFileSync(program, args).toString()) as SignedIn;
    };
    use({
      printed: link(),
      outside: () => signIn(INSIDE, []),
      health: () => {
        const [, words = '[]'] = /^HEALTHCHECK (?:.*\\\n)*.*CMD (\[.*\])$/m.exec(read('Dockerfile')) ?? [];
        const [program = '', ...args] = JSON.parse(words) as string[];
        return spawnSync(program, args, { env }).status;
      },
      atLoopback: () => signIn('127.0.0.1', ['ip', 'netns', 'exec', NAMESPACE]),
    });
  } finally {
    child.kill('SIGINT');
    await gone;
  }
}

function ip(...args: readonly string[]): void {
  execFileSync('ip', args, { stdio: 'pipe' });
}

function canMakeNamespaces(): boolean {
  const name = `${NAMESPACE}-try`;
  if (spawnSync('ip', ['netns', 'add', name]).status !== 0) return false;
  return spawnSync('ip', ['netns', 'delete', name]).status === 0;
}

const skip = canMakeNamespaces() ? false : 'this user cannot make network namespaces';

describe('the console of a gateway in a namespace of its own', { skip, timeout: 300_000 }, () => {
  before(() => {
    const [near, far] = [`gwo${process.pid}`, `gwi${process.pid}`];
    ip('netns', 'add', NAMESPACE);
    ip('link', 'add', near, 'type', 'veth', 'peer', 'name', far);
    ip('link', 'set', far, 'netns', NAMESPACE);
    ip('addr', 'add', `${OUTSIDE}/30`, 'dev', near);
    ip('link', 'set', near, 'up');
    ip('-n', NAMESPACE, 'link', 'set', 'lo', 'up');
    ip('-n', NAMESPACE, 'addr', 'add', `${INSIDE}/30`, 'dev', far);
    ip('-n', NAMESPACE, 'link', 'set', far, 'up');
  });
  // The pair of interfaces goes with it.
  after(() => ip('netns', 'delete', NAMESPACE));

  for (const [name, variables] of [
    ['docker run', ofImage()],
    ['compose', ofCompose()],
  ] as const) {
    test(`${name}: signs in through a published port, with the certificate whose fingerprint is printed`, async () => {
      await started(variables, ({ printed, outside, health }) => {
        assert.equal(health(), 0);
        const [url = '', , fingerprint = ''] = printed;
        assert.match(url, /^https:\/\/127\.0\.0\.1:8081\/#token=/);
        const { said, ...statuses } = outside();
        assert.deepEqual(statuses, { page: 200, session: 200, who: 200, fingerprint: fingerprint.trim() }, said);
      });
    });
  }

  for (const [name, variables] of [
    ['kubectl port-forward', ofKubernetes()],
    ['the unit, through ssh', ofUnit()],
  ] as const) {
    test(`${name}: signs in over the loopback interface`, async () => {
      await started(variables, ({ printed, atLoopback }) => {
        assert.match(printed.join('\n'), /^http:\/\/127\.0\.0\.1:8081\/#token=\S+$/);
        const { said, ...statuses } = atLoopback();
        assert.deepEqual(statuses, { page: 200, session: 200, who: 200, fingerprint: null }, said);
      });
    });
  }

  test('Kubernetes: whoever comes over the network in the clear is told what to do, and signs in nowhere', async () => {
    await started(ofKubernetes(), ({ outside }) => {
      const { page, session, who, said } = outside();
      assert.deepEqual([page, session, who], [403, 403, 401]);
      assert.match(said, /GATEWAY_ADMIN_TLS=self-signed/);
    });
  });

  test('a listener in the clear at one address has no link, and says what to do instead', async () => {
    const env = { GATEWAY_ADMIN_HOST: INSIDE, GATEWAY_ADMIN_PROXY: 'off' };
    await assert.rejects(
      started(env, () => assert.fail('a link was printed')),
      /the console cannot be opened: .*GATEWAY_ADMIN_TLS=self-signed/s,
    );
  });
});
