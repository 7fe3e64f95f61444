/** docs/run/observability.md, the dashboards and the alerts name the metrics that there are. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { parser } from '@prometheus-io/lezer-promql';
import { parse } from 'yaml';
import { CONDITIONS } from '../../../src/core/conditions.ts';
import { ENDPOINTS, onlyCounts } from '../../../src/core/endpoints.ts';
import { NO_LOG } from '../../../src/core/log.ts';
import { AccessLog } from '../../../src/observe/access-log.ts';
import { FAMILIES, type Family } from '../../../src/observe/metrics/families.ts';
import { labelNamesOf } from '../../../src/observe/metrics/render.ts';
import { LoggedRequest } from '../../../src/observe/request-log/view.ts';
import { requestRecord } from '../../support/request-entries.ts';

const root = resolve(import.meta.dirname, '../../..');
const page = readFileSync(join(root, 'docs/run/observability.md'), 'utf8');
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

describe('docs/run/observability.md', () => {
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

  test('names every attribute, event and metric that is sent over OTLP, and no other', () => {
    const [, section = ''] = /^## Traces and metrics over OTLP\n(.*?)^## /ms.exec(page) ?? [];
    const named = /(?<![\w.])(?:gen_ai|gateway|http|error)\.[a-z_.]+(?![\w/])/g;
    const inDocs = new Set([...section.matchAll(/`([^`]+)`/g)].flatMap(([, code = '']) => code.match(named) ?? []));
    const folder = join(root, 'src/observe/telemetry');
    const sources = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
    const inCode = new Set(
      sources.flatMap((text) =>
        [...text.matchAll(/'([a-z_.]+)'/g)].flatMap(([, name = '']) => name.match(named) ?? []),
      ),
    );
    assert.deepEqual([...inDocs].sort(), [...inCode].sort());
  });

  test('has a paragraph for every alert, and every alert leads to its own', () => {
    const { groups } = parse(readFileSync(join(root, 'deploy/prometheus/alerts.yml'), 'utf8')) as {
      groups: { rules: { alert: string; labels: object; annotations: { summary: string; runbook: string } }[] }[];
    };
    const rules = groups.flatMap((group) => group.rules);
    const paragraphs = [...page.matchAll(/^### (Gateway\w+)\n\n\S/gm)].map(([, name]) => name);
    assert.deepEqual(rules.map(({ alert }) => alert).sort(), [...paragraphs].sort());
    for (const { alert, annotations } of rules) {
      assert.equal(annotations.runbook, `docs/run/observability.md#${alert.toLowerCase()}`);
      assert.ok(annotations.summary.length > 0);
    }
  });
});

test('every alert asks for metrics and labels that there are', () => {
  const queries = alertQueries();
  assert.ok(queries.length >= 7);
  for (const query of queries) check(query);
});

test('first bytes are those of streams: a whole answer has its first one with its last', () => {
  const dashboards = readdirSync(join(root, 'deploy/grafana')).flatMap(dashboardQueries);
  const asking = [...alertQueries(), ...dashboards].filter(({ expr }) => expr.includes('time_to_first_byte'));
  assert.ok(asking.some(({ where }) => where === 'GatewayFirstByteSlow') && asking.length > 1);
  for (const { where, expr } of asking) {
    const selectors = [...expr.matchAll(/time_to_first_byte_seconds_\w+(?:\{([^}]*)\})?/g)];
    for (const [, matchers = ''] of selectors) assert.match(matchers, /(^|,)streamed="true"(,|$)/, where);
    if (where.includes(':')) assert.match(where, /of streams/);
  }
});

test('the error rate is of generations: failures by no fault of the client, of those and what was answered', () => {
  const failures = Object.entries(CONDITIONS)
    .filter(([, { status }]) => status >= 500)
    .map(([name]) => name);
  const generations = Object.values(ENDPOINTS)
    .filter(({ name, format }) => format !== null && !onlyCounts(name))
    .map(({ name }) => name);
  const overview = dashboardQueries('overview.json').filter(({ where }) => where.endsWith('Failed'));
  const [alert] = alertQueries().filter(({ where }) => where === 'GatewayErrorRate');
  assert.equal(overview.length, 1);
  for (const { where, expr } of [...overview, alert ?? assert.fail()]) {
    const selectors = [...expr.matchAll(/gateway_requests_total\{([^}]*)\}/g)].map(([, matchers = '']) => matchers);
    const listed = (label: string): readonly string[][] =>
      selectors.flatMap((text) =>
        [...text.matchAll(new RegExp(`${label}=~"([^"]+)"`, 'g'))].map(([, names = '']) => names.split('|').sort()),
      );
    assert.deepEqual(listed('endpoint'), Array(selectors.length).fill(generations.toSorted()), where);
    const answered = selectors.filter((text) => text.includes('condition="none"'));
    assert.deepEqual([answered.length, answered[0]?.includes('status!="none"')], [1, true], where);
    assert.deepEqual(listed('condition'), Array(selectors.length - 1).fill(failures.toSorted()), where);
  }
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

    test(`${file} finds its data source by a variable, so that it can be provisioned as well as imported`, () => {
      const dashboard = JSON.parse(readFileSync(join(root, 'deploy/grafana', file), 'utf8'));
      assert.equal('__inputs' in dashboard, false, 'only an import by hand fills these in');
      const [variable] = dashboard.templating.list;
      assert.deepEqual([variable.type, variable.query, variable.current], ['datasource', 'prometheus', {}]);
      const sources: string[] = [];
      JSON.stringify(dashboard, (name, value) => {
        if (name === 'datasource') sources.push(value.uid);
        return value;
      });
      assert.ok(sources.length > dashboard.panels.length);
      assert.deepEqual([...new Set(sources)], [`\${${variable.name}}`]);
      assert.ok(dashboard.links.every(({ includeVars }: { includeVars: boolean }) => includeVars));
      assert.ok(page.includes(`in *${variable.label}*`));
    });

    test(`${file} shows no NaN as a figure where nothing has happened`, () => {
      const dashboard = JSON.parse(readFileSync(join(root, 'deploy/grafana', file), 'utf8'));
      for (const { type, title, targets = [] } of dashboard.panels) {
        if (type !== 'stat') continue;
        for (const { expr } of targets) {
          if (expr.includes(' / ')) assert.match(expr, / \/ \(.* > 0\)$/, `${title}: 0 / 0`);
        }
      }
    });
  }
});

describe('what is kept of a request', () => {
  const [, table = ''] = page.split('### What is kept of a request\n');
  const [rows = '', accessLog = ''] = table.split('## The access log\n');

  test('every field of a record is in its table', () => {
    const { attempts, ...fields } = LoggedRequest.properties;
    const names = [...Object.keys(fields), 'attempts', ...Object.keys(attempts.items.properties)];
    assert.deepEqual(
      names.filter((name) => !rows.includes(`\`${name}\``)),
      [],
    );
  });

  test('every field of a line of the access log is named', () => {
    const fields: object[] = [];
    const record = requestRecord({ costNanos: 1n, status: 200 });
    record.finish(new AccessLog({ ...NO_LOG, access: (line) => fields.push(line) }, () => true));
    const [section = ''] = accessLog.split('\n## ');
    assert.deepEqual(
      Object.keys(fields[0] ?? {}).filter((name) => !section.includes(`\`${name}\``)),
      [],
    );
  });
});
