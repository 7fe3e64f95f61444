/** docs/observability.md, the dashboards and the alerts name the metrics that there are. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { parser } from '@prometheus-io/lezer-promql';
import { parse } from 'yaml';
import { FAMILIES, type Family } from '../../../src/observe/metrics/families.ts';
import { labelNamesOf } from '../../../src/observe/metrics/render.ts';

const root = resolve(import.meta.dirname, '../../..');
const page = readFileSync(join(root, 'docs/observability.md'), 'utf8');
const families = Object.entries(FAMILIES) as [string, Family][];

/** Every name that a scrape has; a histogram is shown as three. */
const shown = new Map(
  families.flatMap(([name, family]): [string, readonly string[]][] => {
    const labels = [...labelNamesOf(family), 'instance', 'job'];
    if (family.type !== 'histogram') return [[name, labels]];
    return [
      [`${name}_bucket`, [...labels, 'le']],
      [`${name}_sum`, labels],
      [`${name}_count`, labels],
    ];
  }),
);
/** What Prometheus itself knows of a target. */
shown.set('up', ['instance', 'job']);

interface Query {
  readonly where: string;
  readonly expr: string;
}

function alertQueries(): readonly Query[] {
  const { groups } = parse(readFileSync(join(root, 'deploy/prometheus/alerts.yml'), 'utf8')) as {
    groups: { rules: { alert: string; expr: string }[] }[];
  };
  return groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => ({ where: alert, expr })));
}

function dashboardQueries(file: string): readonly Query[] {
  const { panels, templating } = JSON.parse(readFileSync(join(root, 'deploy/grafana', file), 'utf8')) as {
    panels: { title: string; targets?: { expr: string }[] }[];
    templating: { list: { name: string; query?: { query?: string } | string }[] };
  };
  for (const { name, query } of templating.list) {
    const text = typeof query === 'string' ? query : (query?.query ?? '');
    const metric = /^label_values\((\w+),/.exec(text)?.[1];
    if (metric !== undefined) assert.ok(shown.has(metric), `${file}: the variable ${name} asks for ${metric}`);
  }
  return panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ where: `${file}: ${title}`, expr })));
}

/** Grafana puts these in before it asks. */
function withoutVariables(expr: string): string {
  return expr.replaceAll('$__rate_interval', '5m').replaceAll('$__range', '1h').replaceAll(/\$\w+/g, '.*');
}

function check({ where, expr }: Query): void {
  const text = withoutVariables(expr);
  let metrics = 0;
  parser.parse(text).iterate({
    enter: (node) => {
      const here = text.slice(node.from, node.to);
      assert.ok(!node.type.isError, `${where}: ${text} is not PromQL near ${JSON.stringify(text.slice(node.from))}`);
      if (node.name !== 'VectorSelector') return;
      const [, name = '', matchers = ''] = /^(\w+)(?:\{(.*)\})?$/s.exec(here) ?? [];
      const labels = shown.get(name);
      assert.ok(labels, `${where}: there is no metric ${name}`);
      for (const [, label = ''] of matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)) {
        assert.ok(labels.includes(label), `${where}: ${name} has no label ${label}`);
      }
      metrics += 1;
    },
  });
  assert.ok(metrics > 0, `${where}: ${text} asks for nothing`);
}

describe('docs/observability.md', () => {
  test('lists every metric with its type, labels and meaning, and no other', () => {
    const rows = [...page.matchAll(/^\| `([a-z_0-9]+)` \| (\w+) \| (.+?) \| (.+) \|$/gm)]
      .map((row) => row.slice(1))
      .filter(([name = '']) => /^(gateway|process)_/.test(name));
    const expected = families.map(([name, family]) => {
      const labels = labelNamesOf(family).map((label) => `\`${label}\``);
      return [name, family.type, labels.join(', ') || '–', family.help];
    });
    assert.deepEqual(rows, expected);
  });

  test('has a paragraph for every alert, and every alert leads to its own', () => {
    const { groups } = parse(readFileSync(join(root, 'deploy/prometheus/alerts.yml'), 'utf8')) as {
      groups: { rules: { alert: string; labels: object; annotations: { summary: string; runbook: string } }[] }[];
    };
    const rules = groups.flatMap((group) => group.rules);
    const paragraphs = [...page.matchAll(/^### (Gateway\w+)\n\n\S/gm)].map(([, name]) => name);
    assert.deepEqual(rules.map(({ alert }) => alert).sort(), [...paragraphs].sort());
    for (const { alert, annotations } of rules) {
      assert.equal(annotations.runbook, `docs/observability.md#${alert.toLowerCase()}`);
      assert.ok(annotations.summary.length > 0);
    }
  });
});

test('every alert asks for metrics and labels that there are', () => {
  const queries = alertQueries();
  assert.ok(queries.length >= 7);
  for (const query of queries) check(query);
});

describe('dashboards', () => {
  const files = readdirSync(join(root, 'deploy/grafana'));

  test('are these four', () => {
    assert.deepEqual(files.sort(), ['ledger.json', 'money.json', 'overview.json', 'providers.json']);
  });

  for (const file of files) {
    test(`${file} asks for metrics and labels that there are, and can be imported`, () => {
      const dashboard = JSON.parse(readFileSync(join(root, 'deploy/grafana', file), 'utf8'));
      assert.equal(dashboard.uid, `gateway-${file.replace('.json', '')}`);
      assert.equal(dashboard.id, null);
      const ids = dashboard.panels.map(({ id }: { id: number }) => id);
      assert.equal(new Set(ids).size, ids.length);
      for (const query of dashboardQueries(file)) check(query);
    });
  }
});
