/** What `--help` says of one command, or of those that begin with the same word, with examples. */
import { type CommandShape, usageLine } from './arguments.ts';

/** By the words of the command, without `gateway`. A test reads each of them as the command line is read. */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  start: ['start', 'start --workers 4'],
  doctor: ['doctor', 'doctor --no-probe --json'],
  models: ['models', 'models --json'],
  'config check': ['config check gateway.yaml', 'config check gateway.yaml --json'],
  completion: ['completion bash'],
  init: ['init', 'init --providers openai,anthropic --yes'],
  backup: ['backup gateway.backup', 'backup --every 15m --keep 96 /var/backups/gateway'],
  restore: ['restore gateway.backup', 'restore gateway.backup --replace'],
  migrate: ['migrate --to postgres'],
  upgrade: ['upgrade --check'],
  'requests show': ['requests show req_01a1e174667d0053556642d39a21a3d8'],
  'requests list': ['requests list --status 5xx --since 1h', 'requests list --key key_1 --slower 2s --follow'],
  'requests content': ['requests content req_01a1e174667d0053556642d39a21a3d8'],
  top: ['top'],
  import: ['import keys.csv --dry-run', 'import keys.csv'],
  'import litellm': ['import litellm config.yaml --dry-run'],
  'import one-api': ['import one-api one-api.db --out imported'],
  'import new-api': ['import new-api one-api.db --out imported'],
  'export keys': ['export keys'],
  'export accounts': ['export accounts'],
  'export usage': ['export usage --by key,day --since 30d'],
  'keys create': [
    'keys create --mode credit --credit 25 --label ci',
    'keys create --mode token_budget --budget 1000000 --period month',
    'keys create --mode credit --account acct_1 --cap 5 --period week',
  ],
  'keys list': ['keys list', 'keys list --account acct_1 --status active', 'keys list --search laptop'],
  'keys show': ['keys show key_1'],
  'keys update': ['keys update key_1 --rpm 600 --expires 2030-01-31', 'keys update key_1 --label ci --if-version 3'],
  'keys suspend': ['keys suspend key_1'],
  'keys resume': ['keys resume key_1'],
  'keys disable': ['keys disable key_1'],
  'keys enable': ['keys enable key_1'],
  'keys revoke': ['keys revoke key_1'],
  'keys rotate': ['keys rotate key_1'],
  'keys revoke-secret': ['keys revoke-secret key_1 mg_c_0123456'],
  'credit add': ['credit add key_1 10 --note "invoice 4711"'],
  'accounts create': ['accounts create Acme', 'accounts create Research --parent acct_1 --credit-cap 20/month'],
  'accounts list': ['accounts list'],
  'accounts show': ['accounts show acct_1'],
  'accounts update': ['accounts update acct_1 --credit-cap 50/month --rpm 600'],
  'accounts suspend': ['accounts suspend acct_1'],
  'accounts resume': ['accounts resume acct_1'],
  'accounts close': ['accounts close acct_1'],
  'accounts move': ['accounts move acct_2 acct_1'],
  'accounts credit': ['accounts credit acct_1 100 --note "invoice 4711"'],
  'accounts add-key': ['accounts add-key acct_1 key_1'],
  'accounts webhook': ['accounts webhook acct_1 --url https://customer.example.com/hook'],
  'alerts list': ['alerts list --type usage.level'],
  'alerts deliveries': ['alerts deliveries --state dead'],
  'alerts test': ['alerts test'],
  refund: ['refund req_01a1e174667d0053556642d39a21a3d8 --reason "wrong answer"'],
  promotions: ['promotions acct_1'],
  statement: ['statement acct_1 --month 2026-11', 'statement acct_1 --month 2026-11 --csv'],
  reconcile: ['reconcile usage.csv --provider openai'],
  correct: ['correct key_1 --by -2.5 --reason "billed twice"'],
  audit: ['audit'],
  usage: ['usage --by model,day --since 30d', 'usage --by key --account acct_1 --csv'],
  'operators list': ['operators list'],
  'operators create': [
    'operators create ann --role viewer',
    'operators create "Acme admin" --role account-admin --account acct_1',
  ],
  'operators token': ['operators token ann --expires 2027-01-31'],
  'operators revoke': ['operators revoke ann'],
  'operators link': ['operators link --operator ann'],
  'audit-trail': ['audit-trail --outcome refused --since 2026-11-01'],
};

/** Null where no command begins like this line. */
export function helpOf(commands: readonly CommandShape[], line: readonly string[]): string | null {
  const given = line.filter((word) => !word.startsWith('-'));
  const fits = ({ words }: CommandShape): boolean => words.every((word, index) => given[index] === word);
  const [exact] = commands.filter(fits).toSorted((a, b) => b.words.length - a.words.length);
  const found = exact !== undefined ? [exact] : commands.filter(({ words }) => words[0] === given[0]);
  return found.length === 0 ? null : `${found.map(describe).join('\n\n')}\n`;
}

function describe(command: CommandShape): string {
  const examples = EXAMPLES[command.words.join(' ')] ?? [];
  return [usageLine(command), `    ${command.summary}`, ...examples.map((example) => `  e.g. gateway ${example}`)].join(
    '\n',
  );
}
