/** The files of deploy/ are accepted by the programs that read them, without a container engine or a cluster. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { plainManifests, renderChart } from '../../tools/kubernetes.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { root, tool } from './tools.ts';

const folder = temporaryFolder('gateway-manifests');
const deploy = join(root, 'deploy');
/** The oldest that the chart takes, and the newest. */
const KUBERNETES = ['1.27', '1.37'];
const FROM_FILE = ['$', '{file:/run/secrets/providers/openai}'].join('');

interface Ran {
  readonly status: number | null;
  readonly output: string;
}

function ran(program: string, args: readonly string[], cwd = root): Ran {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd });
  if (error !== undefined) throw error;
  return { status, output: `${stdout}${stderr}` };
}

function passes(program: string, args: readonly string[], cwd = root): string {
  const { status, output } = ran(program, args, cwd);
  assert.equal(status, 0, output);
  return output;
}

const hadolint = tool('hadolint');
test('the Dockerfile has no finding of its linter', { skip: hadolint.skip }, () => {
  assert.equal(passes(hadolint.path, [join(deploy, 'Dockerfile')]).trim(), '');
});

const compose = tool('compose-config');
test('the compose file is one by the reference implementation of its specification', { skip: compose.skip }, () => {
  const project = parse(passes(compose.path, ['compose.yaml'], deploy)) as {
    services: Record<string, { depends_on?: Record<string, unknown>; configs?: { source: string }[] }>;
    configs: Record<string, { content: string }>;
  };
  assert.deepEqual(Object.keys(project.services).sort(), [
    'gateway-1',
    'gateway-2',
    'grafana',
    'nginx',
    'otel-collector',
    'postgres',
    'prometheus',
  ]);
  for (const { content } of Object.values(project.configs)) assert.equal(typeof parse(content), 'object');
});

const systemd = tool('systemd-analyze');
test('systemd accepts the unit, and finds little exposed', { skip: systemd.skip }, () => {
  const unit = join(deploy, 'model-gateway.service');
  assert.equal(passes(systemd.path, ['verify', unit]), '');
  const security = passes(systemd.path, ['security', '--offline=true', '--threshold=20', unit]);
  assert.match(security, /Overall exposure level/);
});

const helm = tool('helm');
const validate = tool('kubernetes-validate');

function validated(name: string, text: string): void {
  const file = join(folder, name);
  writeFileSync(file, text);
  for (const version of KUBERNETES) passes(validate.path, ['--strict', '-k', version, file]);
}

describe('the chart', { skip: helm.skip || validate.skip }, () => {
  test('has no finding of helm lint', () => {
    passes(helm.path, ['lint', '--strict', join(deploy, 'helm/model-gateway')]);
  });

  test('renders to what Kubernetes knows, as it is', () => {
    validated('default.yaml', renderChart(helm.path, []));
  });

  test('renders to what Kubernetes knows, with everything switched on or off', () => {
    const on = {
      replicaCount: 3,
      image: { repository: 'registry.example/gateway', tag: 'x', pullSecrets: ['one', 'two'] },
      providersSecret: 'providers',
      admin: { tlsSecret: 'console-tls', proxy: true, url: 'https://console.example.com' },
      publicUrl: 'https://gateway.example.com',
      corsOrigins: '*',
      config: { providers: { openai: { api_key: FROM_FILE } }, limits: { drain: 60 } },
      extraEnv: [{ name: 'GATEWAY_LOG', value: 'warn' }],
      ingress: { enabled: true, className: 'nginx', host: 'gateway.example.com', tlsSecret: 'tls' },
      autoscaling: { enabled: true },
      networkPolicy: { extraEgress: [{ to: [{ podSelector: {} }], ports: [{ port: 8000 }] }] },
      service: { type: 'LoadBalancer', annotations: { a: 'b' } },
      podAnnotations: { a: 'b' },
      nodeSelector: { a: 'b' },
      tolerations: [{ key: 'a', operator: 'Exists' }],
    };
    const rendered = renderChart(helm.path, ['--values', values('on.json', on)]);
    validated('on.yaml', rendered);
    assert.match(rendered, /kind: HorizontalPodAutoscaler/);
    assert.match(rendered, /GATEWAY_ADMIN_TLS_CERT, value: \/run\/secrets\/admin-tls\/tls\.crt/);
    assert.match(rendered, /GATEWAY_ADMIN_URL, value: "https:\/\/console\.example\.com"/);
    assert.match(rendered, /api_key: \$\{file:\/run\/secrets\/providers\/openai\}/);
    const off = {
      networkPolicy: { enabled: false },
      podDisruptionBudget: { enabled: false },
      migration: { enabled: false },
      trustedProxies: '',
    };
    const bare = renderChart(helm.path, ['--values', values('off.json', off)]);
    validated('off.yaml', bare);
    assert.doesNotMatch(bare, /kind: (NetworkPolicy|PodDisruptionBudget|Job)/);
    const monitored = renderChart(helm.path, ['--set', 'serviceMonitor.enabled=true']);
    assert.match(monitored, /kind: ServiceMonitor.*key: GATEWAY_METRICS_TOKEN/s);
  });

  test('refuses values that it does not know, and says which', () => {
    for (const [value, expected] of [
      ['replicas=3', /replicas/],
      ['replicaCount=0', /replicaCount/],
      ['existingSecret=', /existingSecret/],
      ['publicUrl=gateway.example.com', /publicUrl/],
      ['service.type=ExternalName', /service\.type|\/service\/type/],
    ] as const) {
      const { status, output } = ran(helm.path, [
        'template',
        'x',
        join(deploy, 'helm/model-gateway'),
        '--kube-version',
        '1.34.0',
        '--set',
        value,
      ]);
      assert.equal(status, 1, value);
      assert.match(output, expected);
    }
  });

  function values(name: string, value: object): string {
    const file = join(folder, name);
    writeFileSync(file, JSON.stringify(value));
    return file;
  }
});

test('the plain manifests are the chart without Helm', { skip: helm.skip || validate.skip }, () => {
  for (const [name, text] of plainManifests(helm.path)) {
    assert.equal(readFileSync(join(deploy, 'kubernetes', name), 'utf8'), text, `${name}: npm run kubernetes`);
  }
  for (const name of readdirSync(join(deploy, 'kubernetes'))) {
    validated(name, readFileSync(join(deploy, 'kubernetes', name), 'utf8'));
  }
});
