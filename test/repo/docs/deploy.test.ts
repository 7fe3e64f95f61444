/** The files in deploy/ name what is there, and the tools of their field accept them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';

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
    assert.ok(steps.indexOf('USER node') > steps.findLastIndex((step) => step.startsWith('RUN')));
  });

  test('systemd accepts the unit', { skip: systemdMissing ? 'systemd-analyze is not installed' : false }, () => {
    const verified = spawnSync('systemd-analyze', ['verify', join(root, 'deploy/model-gateway.service')]);
    assert.deepEqual([verified.status, verified.stderr.toString()], [0, '']);
  });
});
