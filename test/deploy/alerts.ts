/** What the alerts fire for, as Prometheus itself evaluates them; test/deploy/alerts.yml has the cases. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { root, toolPath } from './tools.ts';

const promtool = toolPath('promtool');
const skip = promtool === null && "Prometheus' promtool is not installed";

test('each alert fires for what it says, and for nothing less', { skip }, () => {
  execFileSync(promtool ?? '', ['check', 'rules', join(root, 'deploy/prometheus/alerts.yml')], { stdio: 'inherit' });
  execFileSync(promtool ?? '', ['test', 'rules', join(root, 'test/deploy/alerts.yml')], { stdio: 'inherit' });
});
