/** The text of docs/connect/models.md. */
import { discover } from '../src/config/discover.ts';
import { KNOWN_HOSTS } from '../src/config/kinds.ts';
import { dataSources } from '../src/config/model-data.ts';
import { NO_LISTS } from '../src/config/model-lists.ts';
import { type ModelReportRow, modelReport } from '../src/config/model-report.ts';
import { Secrets } from '../src/config/secrets.ts';

/** As of the newest of the packages, so that the page changes with the data and not with the day. */
export async function modelsPage(): Promise<string> {
  const sources = dataSources();
  const date =
    sources
      .map((source) => source.date)
      .sort()
      .at(-1) ?? '';
  const env = Object.fromEntries(KNOWN_HOSTS.map(({ variable }) => [variable, 'key']));
  const { models } = await discover({
    env,
    secrets: new Secrets(env),
    probe: null,
    ownPort: 0,
    usdPerCredit: 1,
    now: new Date(`${date}T00:00:00Z`),
    lists: NO_LISTS,
  });
  const rows = modelReport(models);
  const lines = [
    '# Models',
    '',
    'Every model that the gateway offers when the key of its provider is in the environment, with price, context window and',
    'output limit, and where each figure comes from. `npm run models-report` writes this page from the data that ships with',
    'the gateway. A running gateway also asks the providers for their own lists, which count before published limits:',
    '`npx gateway models` shows what counts on your machine.',
    '',
    'Sources:',
    '',
    ...sources.map(({ package: name, version, date }, index) => `${index + 1}. \`${name}\` ${version}, ${date}`),
    '',
    'Prices are USD per million tokens. The small number is the source; `?` marks a cautious default because nobody says.',
    '',
  ];
  const numbers = new Map(
    sources.map(({ package: name, version }, index) => [`${name} ${version}`, String(index + 1)]),
  );
  for (const { name } of KNOWN_HOSTS) {
    const own = rows.filter(({ provider }) => provider === name);
    lines.push(
      `## ${name}`,
      '',
      summary(own),
      '',
      '| Model | Input | Output | Context window | Output limit |',
      '|---|---|---|---|---|',
    );
    lines.push(...own.map((row) => tableRow(row, numbers)), '');
  }
  return `${lines.join('\n').trimEnd()}\n`;
}

function summary(rows: readonly ModelReportRow[]): string {
  const known = (name: 'context_window' | 'max_output_tokens') =>
    rows.filter((row) => row[name].source !== 'assumed').length;
  return `${rows.length} models; the context window of ${known('context_window')} and the output limit of ${known('max_output_tokens')} are known.`;
}

function tableRow(
  { id, price, context_window, max_output_tokens }: ModelReportRow,
  numbers: ReadonlyMap<string, string>,
): string {
  const mark = (from: string) => `<sup>${numbers.get(from) ?? '?'}</sup>`;
  const { input = 0, output = 0 } = price.value;
  const cells = [
    `\`${id}\``,
    `${input}${mark(price.from)}`,
    String(output),
    context_window.value === null ? 'unknown' : `${context_window.value}${mark(context_window.from)}`,
    `${max_output_tokens.value}${mark(max_output_tokens.from)}`,
  ];
  return `| ${cells.join(' | ')} |`;
}
