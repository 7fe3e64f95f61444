/** docs/compatibility.md, from what a run has seen. */
import type { Row, Sight } from './scenarios.ts';

export interface RunFacts {
  readonly date: string;
  readonly command: string;
  /** Clients that were not run, with the reason. */
  readonly notRun: readonly (readonly [client: string, reason: string])[];
}

export function compatibilityPage(rows: readonly Row[], sights: readonly Sight[], facts: RunFacts): string {
  const clients = [...new Map(rows.map(({ client, version }) => [client, version]))];
  const failed = [...rows, ...sights].filter(({ problem }) => problem !== null).length;
  const lines = [
    '# Compatibility',
    '',
    `Written by \`${facts.command}\` on ${facts.date}: ${rows.length} scenarios and ${sights.length} failures on purpose, ${failed === 0 ? 'none of them with a problem' : `${failed} with a problem`}. Every scenario runs with a credit key and with a token-budget key against a started gateway whose simulated provider is strict ([sandbox](sandbox.md)). It passes where the client is content **and** the ledger has charged exactly the usage that the client saw, with no hold left. How to set a client up is in [clients.md](clients.md).`,
    '',
    '**Native** is a model whose provider speaks the format of the route, so that bytes pass through; **translated** is one of the other family.',
    '',
    '| Client | Version |',
    '|---|---|',
    ...clients.map(([client, version]) => `| ${client} | ${version} |`),
    ...facts.notRun.map(([client, reason]) => `| ${client} | not run: ${reason} |`),
    '',
  ];
  for (const [client] of clients) {
    lines.push(`## ${client}`, '', '| Scenario | Route | Native | Translated |', '|---|---|---|---|');
    const own = rows.filter((row) => row.client === client);
    for (const what of new Set(own.map((row) => row.what))) {
      const here = own.filter((row) => row.what === what);
      const lane = (name: Row['lane']): string => outcome(here.filter((row) => row.lane === name));
      lines.push(`| ${what} | \`${here[0]?.route}\` | ${lane('native')} | ${lane('translated')} |`);
    }
    const seen = sights.filter((sight) => sight.client === client);
    if (seen.length > 0) {
      const counted = seen.some(({ requests }) => requests !== undefined);
      lines.push(
        '',
        `| When there is | its user sees |${counted ? ' requests |' : ''}`,
        `|---|---|${counted ? '---|' : ''}`,
      );
      for (const { fault, message, problem, requests } of seen) {
        const told = `${cell(message)}${problem === null ? '' : ` **(${problem})**`}`;
        lines.push(`| ${fault} | ${told} |${counted ? ` ${requests ?? ''} |` : ''}`);
      }
    }
    lines.push('');
  }
  return lines.join('\n');
}

function outcome(rows: readonly Row[]): string {
  const told = ({ mode, problem, note }: Row): string => {
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
    .trim();
  return plain.length > 240 ? `${plain.slice(0, 240)}…` : plain;
}
