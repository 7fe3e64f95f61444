/** Commands on the data itself and on the installation, which do not go through the admin API. */
import { type CommandShape, shape } from './arguments.ts';

export const INIT: CommandShape = shape({
  words: ['init'],
  examples: ['init', 'init --providers openai,anthropic --yes', 'init --base-url http://127.0.0.1:8000/v1 --yes'],
  flags: {
    providers: 'NAME,NAME',
    'base-url': 'URL',
    price: 'INPUT/OUTPUT',
    secrets: 'files|variables',
    credit: 'CREDITS|none',
    account: 'NAME|none',
    operator: 'NAME|none',
  },
  switches: ['yes', 'no-check', 'json'],
  summary:
    'write gateway.yaml from the credentials in the environment, or for the server at --base-url (or OPENAI_BASE_URL), and create the first operator, account and key; --yes asks nothing',
});

export const BACKUP: CommandShape = shape({
  words: ['backup'],
  examples: ['backup gateway.backup', 'backup --every 15m --keep 96 /var/backups/gateway'],
  operands: ['FILE|-|FOLDER'],
  flags: { every: '15m', keep: 'N' },
  summary:
    'back up the embedded store while the gateway runs, verified by an audit and encrypted with GATEWAY_BACKUP_KEY; --every 15m --keep 96 FOLDER repeats it',
});

export const RESTORE: CommandShape = shape({
  words: ['restore'],
  examples: ['restore gateway.backup', 'restore gateway.backup --replace'],
  operands: ['FILE|-'],
  switches: ['replace', 'json'],
  summary: 'restore a backup into the data folder; --replace moves existing data aside',
});

export const MIGRATE: CommandShape = shape({
  words: ['migrate'],
  examples: ['migrate --to postgres'],
  flags: { to: 'postgres|sqlite' },
  summary: 'move the ledger from the data folder into DATABASE_URL, or back, with an audit on both sides',
});

export const UPGRADE: CommandShape = shape({
  words: ['upgrade'],
  examples: ['upgrade --check'],
  switches: ['check', 'json'],
  summary:
    'migrate the store to this release without serving; --check only reports what that would do, tried and audited on a copy',
});

export const DATA_COMMANDS: readonly CommandShape[] = [INIT, BACKUP, RESTORE, MIGRATE, UPGRADE];
