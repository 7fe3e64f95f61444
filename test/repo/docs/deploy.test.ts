/** The files in deploy/ name what is there, and the tools of their field accept them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { Ajv } from 'ajv';
import { parse } from 'yaml';

const root = resolve(import.meta.dirname, '../../..');
const read = (name: string): string => readFileSync(join(root, 'deploy', name), 'utf8');
const systemdMissing = spawnSync('systemd-analyze', ['--version']).error !== undefined;

describe('deploy/', () => {
  test('the image is built from files that exist and that its context has, and does not run as root', () => {
    const steps = read('Dockerfile')
      .replaceAll(/\\\n\s*/g, ' ')
      .split('\n');
    const allowed = read('Dockerfile.dockerignore').split('\n');
    const sources = steps
      .filter((step) => /^COPY (?!--from)/.test(step))
      .flatMap((step) => step.split(/\s+/).slice(1, -1));
    assert.ok(sources.length >= 8);
    for (const source of sources) {
      assert.ok(existsSync(join(root, source)), source);
      assert.ok(allowed.includes(`!${source}`), `${source} is left out by the ignore file`);
    }
    assert.ok(steps.indexOf('USER 1000:1000') > steps.findLastIndex((step) => step.startsWith('RUN')));
  });

  test('systemd accepts the unit', { skip: systemdMissing ? 'systemd-analyze is not installed' : false }, () => {
    const verified = spawnSync('systemd-analyze', ['verify', join(root, 'deploy/model-gateway.service')]);
    assert.deepEqual([verified.status, verified.stderr.toString()], [0, '']);
  });

  test('every setting that a file of deploy/ gives is one that is documented', () => {
    const documented = readFileSync(join(root, 'docs/run/configuration.md'), 'utf8');
    for (const file of filesBelow(join(root, 'deploy'))) {
      const names = readFileSync(file, 'utf8').match(/\b(?:GATEWAY_(?!COMMIT)[A-Z_]+[A-Z]|DATABASE_URL)\b/g) ?? [];
      for (const name of new Set(names)) {
        assert.ok(documented.includes(`\`${name.replace(/_FILE$/, '')}\``), `${file} has ${name}`);
      }
    }
  });

  test('what the compose file mounts and builds is there, and nothing of it listens for other machines', () => {
    const { services } = parse(read('compose.yaml'), { merge: true }) as { services: Record<string, ComposeService> };
    for (const [name, { build, volumes = [], ports = [] }] of Object.entries(services)) {
      if (build !== undefined) assert.ok(existsSync(join(root, 'deploy', build.context, build.dockerfile)), name);
      for (const volume of volumes.filter((text) => text.startsWith('.'))) {
        assert.ok(existsSync(join(root, 'deploy', volume.split(':')[0] ?? '')), volume);
      }
      for (const port of ports) assert.match(port, /^127\.0\.0\.1:/, name);
    }
  });

  test('the values of the chart have its schema, and its version is the one of the package', () => {
    const chart = 'helm/model-gateway';
    const schema = JSON.parse(read(`${chart}/values.schema.json`)) as object;
    const validate = new Ajv({ strict: false, allErrors: true }).compile(schema);
    assert.ok(validate(parse(read(`${chart}/values.yaml`))), JSON.stringify(validate.errors));
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    const { appVersion } = parse(read(`${chart}/Chart.yaml`)) as { appVersion: string };
    assert.equal(appVersion, version);
    assert.match(read('kubernetes/model-gateway.yaml'), new RegExp(`image: model-gateway:${version}$`, 'm'));
  });
});

interface ComposeService {
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
