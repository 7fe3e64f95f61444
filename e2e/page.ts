/** docs/connect/compatibility.md and the pages of clients, from what the last run of each client has seen. */
import type { Row, Sight } from './scenarios.ts';

/** What one run of one client program, or of one agent, has seen. */
export interface Result {
  /** `2026-11-15` */
  readonly date: string;
  readonly rows: readonly Row[];
  readonly sights: readonly Sight[];
}

export interface RunFacts {
  readonly command: string;
  /** Clients that were not run, with the reason. */
  readonly notRun: readonly (readonly [client: string, reason: string])[];
}

export function compatibilityPage(results: readonly Result[], { command, notRun }: RunFacts): string {
  const rows = results.flatMap((result) => result.rows).filter(({ notRun: reason }) => reason === undefined);
  const sights = results.flatMap((result) => result.sights);
  const failed = [...rows, ...sights].filter(({ problem }) => problem !== null).length;
  const clients = results.flatMap(({ date, rows: own }) =>
    [...new Map(own.map(({ client, version }) => [client, version]))].map(([client, version]) => ({
      client,
      version,
      date,
    })),
  );
  const lines = [
    '# Compatibility',
    '',
    `Written by \`${command}\`: ${rows.length} scenarios and ${sights.length} failures on purpose, ${failed === 0 ? 'none of them with a problem' : `${failed} with a problem`}. Every scenario of an SDK or a framework, and the turns of agents, run with a credit key and with a token-budget key against a started gateway whose simulated provider is strict ([sandbox](../try/sandbox.md)), and once more with [aimock](https://github.com/CopilotKit/aimock) as a provider that is not the gateway's own. It passes where the client is content **and** the ledger has charged exactly the usage that the client saw, with no hold left. The tool loops of agents (read two files at once, edit one, run a command) run on a provider whose model is a script. How to set a client up is in [Clients](clients.md).`,
    '',
    '**Native** is a model whose provider speaks the format of the route, so that bytes pass through; **translated** is one of the other family. A difference of the client itself is told in brackets, with its code.',
    '',
    'A **whole** answer comes in one piece, a **streamed** one in events. A cell is empty where the scenario is not run that way. *It stays on this machine* means that the agent, with its telemetry and updates switched off, asked nobody but the gateway and the hosts that its page names. **Requests** are those that the client sent before it told its user.',
    '',
    '| Client | Version | Tried on |',
    '|---|---|---|',
    ...clients.map(({ client, version, date }) => `| ${client} | ${version} | ${date} |`),
    ...notRun.map(([client, reason]) => `| ${client} | not run: ${reason} | |`),
    '',
  ];
  for (const { client } of clients) lines.push(`## ${client}`, '', ...tables(results, client), '');
  return lines.join('\n');
}

/** The part of a client's page that a run writes. */
export function clientPart(results: readonly Result[], clients: readonly string[]): string {
  const lines: string[] = [];
  for (const client of clients) {
    const own = results.find(({ rows }) => rows.some((row) => row.client === client));
    const version = own?.rows.find((row) => row.client === client)?.version;
    if (own === undefined || version === undefined) continue;
    lines.push(`**${client} ${version}**, ${own.date}:`, '', ...tables(results, client), '');
  }
  if (lines.length === 0) return 'Nothing yet: `npm run e2e` has not been run with it.\n';
  return ['What the tables show is explained in [Compatibility](../compatibility.md).', '', ...lines].join('\n');
}

function tables(results: readonly Result[], client: string): string[] {
  const own = results.flatMap(({ rows }) => rows).filter((row) => row.client === client);
  const lines = [
    '| Scenario | Route | Native | Translated | aimock, native | aimock, translated |',
    '|---|---|---|---|---|---|',
  ];
  for (const what of new Set(own.map((row) => row.what))) {
    const here = own.filter((row) => row.what === what);
    const of = (provider: Row['provider'], lane: Row['lane']): string =>
      outcome(here.filter((row) => row.provider === provider && row.lane === lane));
    const sandbox = `${of('sandbox', 'native')} | ${of('sandbox', 'translated')}`;
    const foreign = `${of('aimock', 'native')} | ${of('aimock', 'translated')}`;
    lines.push(`| ${what} | \`${here[0]?.route}\` | ${sandbox} | ${foreign} |`);
  }
  const seen = results.flatMap(({ sights }) => sights).filter((sight) => sight.client === client);
  if (seen.length === 0) return lines;
  const counted = seen.some(({ requests }) => requests !== undefined);
  lines.push(
    '',
    `| What is wrong | What its user sees |${counted ? ' Requests |' : ''}`,
    `|---|---|${counted ? '---|' : ''}`,
  );
  for (const { fault, message, problem, requests, note } of seen) {
    const own = note === undefined ? '' : ` (it ${note})`;
    const told = `${cell(message) || 'nothing'}${problem === null ? own : ` **(${problem})**`}`;
    lines.push(`| ${fault} | ${told} |${counted ? ` ${requests ?? ''} |` : ''}`);
  }
  return lines;
}

function outcome(rows: readonly Row[]): string {
  const told = ({ mode, problem, note, notRun }: Row): string => {
    if (notRun !== undefined) return `not run: ${notRun}`;
    if (problem !== null) return `**${mode}: ${cell(problem)}**`;
    return note === undefined ? mode : `${mode} (it ${note})`;
  };
  return rows.map(told).join(', ');
}

/** One line, without what differs from run to run. */
function cell(text: string): string {
  const plain = text
    .replaceAll(/req_[0-9a-f]+/g, 'req_…')
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:8080')
    .replaceAll(/\s+/g, ' ')
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;')
    .trim();
  return plain.length > 240 ? `${plain.slice(0, 240)}…` : plain;
}
