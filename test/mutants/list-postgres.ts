import type { Mutant } from './list.ts';

const SESSION = 'storage/postgres/session.ts';
const POOLER: readonly [string, string] = [
  'test/gateway/pooler.test.ts',
  'no session of the server keeps anything of it',
];
const APPLY = 'ledger/postgres/apply-batch.ts';
const STUCK = 'ledger/postgres/stuck-rows.ts';
const CONTRACT = 'test/contract/postgres.test.ts';
const KEPT_LOCKED = 'a row that somebody keeps locked';
const FAILOVER = 'test/unit/storage/postgres/failover.test.ts';

/** Of connections to PostgreSQL, whatever they are for; and of rows that somebody else keeps locked. */
export const POSTGRES_MUTANTS: readonly Mutant[] = [
  {
    name: 'PostgreSQL: synchronous_commit is not forced on',
    edits: [[SESSION, "current_setting('synchronous_commit') = 'off'", 'false']],
    tests: [['test/unit/ledger/postgres/durability.test.ts']],
  },
  {
    name: 'PostgreSQL: settings behind a pooler are made for the session',
    edits: [[SESSION, "local ? 'SET LOCAL' : 'SET'", "local ? 'SET' : 'SET'"]],
    tests: [POOLER],
  },
  {
    name: 'PostgreSQL: a pooler is not recognised',
    edits: [[SESSION, '!pooled && state?.process === announced', '!pooled']],
    tests: [['test/unit/storage/postgres/session.test.ts']],
  },
  {
    name: 'PostgreSQL: statements are prepared where that does not last',
    edits: [['storage/postgres/connection.ts', 'prepares ? name : undefined', 'name']],
    tests: [POOLER],
  },
  {
    name: 'PostgreSQL: a server that takes no writes is taken',
    edits: [[SESSION, "wanted === 'read-write' && state?.read_only === true", 'false']],
    tests: [[FAILOVER, 'with none that takes writes']],
  },
  {
    name: 'PostgreSQL: of several servers only the first is tried',
    edits: [
      [
        'storage/postgres/servers.ts',
        'const { hosts, connectTimeoutMs } = databaseAddress(url);',
        'const { hosts: [single], connectTimeoutMs } = databaseAddress(url);\n  const hosts = single === undefined ? [] : [single];',
      ],
    ],
    tests: [['test/unit/storage/postgres/servers.test.ts']],
  },
  {
    name: 'PostgreSQL: a row that stays locked takes with it whoever is in the same batch',
    edits: [[APPLY, 'if (looks === 0 || !(', 'if (looks >= 0 || !(']],
    tests: [[CONTRACT, KEPT_LOCKED]],
  },
  {
    name: 'PostgreSQL: a row that stays locked is looked for among those who pay alone',
    edits: [[STUCK, '[keyId, ...accountIds]).flat()', '[accountIds.at(-1) ?? keyId]).flat()']],
    tests: [[CONTRACT, KEPT_LOCKED]],
  },
  {
    name: 'PostgreSQL: a row that was locked for long does not serve again at once',
    edits: [[STUCK, 'if (!locked.has(id)) this', "if (id === '') this"]],
    tests: [[CONTRACT, KEPT_LOCKED]],
  },
  {
    name: 'PostgreSQL: marks are lost beside one of a row that stays locked',
    edits: [[STUCK, 'stuckOf(keyId) === undefined);', "stuckOf(keyId) === '');"]],
    tests: [[CONTRACT, 'marks beside one']],
  },
];
