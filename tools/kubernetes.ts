/** Writes deploy/kubernetes from the chart: the same without Helm. `npm run kubernetes`, with `helm` on the PATH. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = resolve(import.meta.dirname, '..');
/** The chart asks for a version, and a Helm that was built from source knows none. */
const KUBERNETES = '1.34.0';
const JOB = 'templates/migration-job.yaml';

const HEADS: Readonly<Record<string, string>> = {
  'schema-job.yaml': `# Brings the database to the release. Run it before the first gateways of a release start, and wait for it:
#   kubectl delete job model-gateway-schema --ignore-not-found && kubectl apply -f schema-job.yaml
#   kubectl wait --for=condition=complete --timeout=900s job/model-gateway-schema
`,
  'model-gateway.yaml': `# Two gateways on a PostgreSQL that they share, made from the chart in deploy/helm by tools/kubernetes.ts. It needs the Secret of
# secret.example.yaml, and schema-job.yaml before it. Set the image, and put your configuration into the ConfigMap.
`,
};

export function renderChart(helm: string, args: readonly string[]): string {
  const chart = join(root, 'deploy/helm/model-gateway');
  return execFileSync(helm, ['template', 'model-gateway', chart, '--kube-version', KUBERNETES, ...args]).toString();
}

/** File name → text. */
export function plainManifests(helm: string): ReadonlyMap<string, string> {
  const documents = renderChart(helm, [])
    .split(/^---$/m)
    .filter((document) => document.trim() !== '');
  const isJob = (document: string): boolean => document.includes(JOB);
  const text = (name: string, own: readonly string[]): [string, string] => [
    name,
    `${HEADS[name]}${own.map(withoutHelm).join('---\n')}`,
  ];
  return new Map([
    text('schema-job.yaml', documents.filter(isJob)),
    text(
      'model-gateway.yaml',
      documents.filter((document) => !isJob(document)),
    ),
  ]);
}

/** What only Helm reads. */
function withoutHelm(document: string): string {
  const lines = document.trim().split('\n');
  const kept = lines.filter((line) => !/^# Source: |helm\.sh\/|managed-by: Helm/.test(line));
  return `${kept.join('\n').replace(/^ {2}annotations:\n(?! {4})/m, '')}\n`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const [name, text] of plainManifests(process.env.HELM ?? 'helm')) {
    writeFileSync(join(root, 'deploy/kubernetes', name), text);
  }
}
