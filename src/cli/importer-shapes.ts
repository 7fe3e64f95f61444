/** The commands that take over from another gateway, as the help shows them. */
import type { CommandShape } from './arguments.ts';

/** Where their files go. */
export const OUT = 'gateway-import';
const shape = { flags: { out: 'FOLDER' }, switches: ['dry-run', 'json'] };

/** Not among the others: they need no store. */
export const IMPORTERS: readonly CommandShape[] = [
  {
    ...shape,
    words: ['import', 'litellm'],
    examples: ['import litellm config.yaml --dry-run'],
    operands: ['CONFIG.yaml'],
    flags: { keys: 'KEYS.json', ...shape.flags },
    summary: `convert a LiteLLM config, and with --keys the keys and teams of its proxy, to files in ${OUT}: gateway.yaml, keys.csv and more`,
  },
  ...(['one-api', 'new-api'] as const).map((flavour) => ({
    ...shape,
    words: ['import', flavour],
    examples: [`import ${flavour} one-api.db --out imported`],
    operands: ['DATABASE|ROWS.json'],
    summary: `convert channels, users and tokens of a ${flavour} database (SQLite, or JSON of its rows) to files in ${OUT}`,
  })),
];
