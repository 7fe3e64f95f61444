/** Ways to break accounts in a tree: each rule of a path, on its own. */
import type { Mutation } from './mutations.ts';
import { REPEATED_ENTRY_IGNORED } from './mutations-money.ts';

const SCHEMA = 'migrations/sqlite/0007-account-tree.sql';
/** The schema's own checks would notice many of these by themselves; without them only the simulation can. */
const WITHOUT_BALANCE_CHECK = [
  SCHEMA,
  'CHECK (parent_id IS NOT NULL OR purchased - used - reserved >= 0)',
  'CHECK (TRUE)',
] as const;
const WITHOUT_RESERVED_CHECK = [
  SCHEMA,
  'reserved INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0)',
  'reserved INTEGER NOT NULL DEFAULT 0',
] as const;
const WITHOUT_TOKENS_CHECK = [
  SCHEMA,
  'reserved_tokens INTEGER NOT NULL DEFAULT 0 CHECK (reserved_tokens >= 0)',
  'reserved_tokens INTEGER NOT NULL DEFAULT 0',
] as const;
const UNCHECKED = [WITHOUT_BALANCE_CHECK, WITHOUT_RESERVED_CHECK, WITHOUT_TOKENS_CHECK];

export const TREE_MUTATIONS: readonly Mutation[] = [
  {
    name: 'a hold is reserved at its key alone',
    edits: [
      [
        'engine/admit.ts',
        'reserve(state, nodesAbove(state), amount, tokens, 1);',
        'reserve(state, [], amount, tokens, 1);',
      ],
      ...UNCHECKED,
    ],
  },
  {
    name: 'caps below the root are not asked for credit',
    edits: [
      ['rules/levels.ts', 'if (credit && creditCap !== null) {', 'if (credit && creditCap !== null && !parentId) {'],
    ],
  },
  {
    name: 'caps on tokens are not asked',
    edits: [['rules/levels.ts', 'available: (tokenCap?.amount ?? AMOUNT_MAX)', 'available: AMOUNT_MAX']],
  },
  {
    name: 'caps on tokens do not count credit keys',
    edits: [['engine/key-state.ts', '    node.tokensUsed += tokens;', '    if (!credit) node.tokensUsed += tokens;']],
  },
  {
    name: 'the credit of the root is not asked',
    edits: [
      ['rules/levels.ts', 'available: purchased - used,', 'available: node === null ? purchased - used : AMOUNT_MAX,'],
      ...UNCHECKED,
    ],
  },
  {
    name: 'what others below the root hold is not looked at',
    edits: [
      [
        'rules/levels.ts',
        'if (available - reserved < withRoom(held',
        'if (available - (by.node === null ? reserved : 0n) < withRoom(held',
      ],
      ...UNCHECKED,
    ],
  },
  {
    name: 'the cap of a key is not asked',
    edits: [['rules/levels.ts', 'credit ? key.cap : (key.budget', 'credit ? null : (key.budget']],
  },
  {
    name: 'a cap that is used up counts as too small',
    edits: [['rules/levels.ts', 'if (period !== null && (available <= 0n || rest))', 'if (period !== null && rest)']],
  },
  {
    name: 'a hold does not shrink to what a level above carries',
    edits: [
      [
        'rules/levels.ts',
        'const held = smaller(most, available);',
        'const held = by.node === null ? smaller(most, available) : most;',
      ],
      ...UNCHECKED,
    ],
  },
  {
    name: 'the least that will do is not asked for at a level above',
    edits: [
      [
        'rules/levels.ts',
        "if (available < least) return { kind: 'insufficient', by };",
        "if (available < least && by.node === null) return { kind: 'insufficient', by };",
      ],
    ],
  },
  {
    name: 'token-budget keys spend the credit of the root',
    edits: [
      [
        'engine/key-state.ts',
        '    if (credit) {\n      node.used += charged;',
        '    if (tokens >= 0n) {\n      node.used += charged;',
      ],
      ...UNCHECKED,
    ],
  },
  {
    name: 'a charge is booked at the nearest account alone',
    edits: [
      [
        'engine/key-state.ts',
        'for (const node of nodes) {\n    atMs =',
        'for (const node of nodes.slice(0, 1)) {\n    atMs =',
      ],
    ],
  },
  {
    name: 'more tokens are charged than are held',
    edits: [
      [
        'engine/hold.ts',
        'const tokens = owedTokens > hold.tokens ? hold.tokens : owedTokens;',
        'const tokens = owedTokens;',
      ],
    ],
  },
  {
    name: 'what an ended hold reserved at accounts stays reserved',
    edits: [
      [
        'engine/hold.ts',
        'reserve(state, nodes, -hold.amount, -hold.tokens, -1);',
        'reserve(state, [], -hold.amount, -hold.tokens, -1);',
      ],
    ],
  },
  {
    name: 'the file keeps what an ended hold reserved at accounts',
    edits: [
      [
        'sqlite/key-cache.ts',
        'this.#reservePersisted(state, nodesOf(state, hold), -hold.amount, -hold.tokens, -1);',
        'this.#reservePersisted(state, [], -hold.amount, -hold.tokens, -1);',
      ],
    ],
  },
  {
    name: 'an extension is reserved at its key alone',
    edits: [
      [
        'engine/hold.ts',
        'reserve(state, nodes, moreAmount, moreTokens, 0);',
        'reserve(state, [], moreAmount, moreTokens, 0);',
      ],
      ...UNCHECKED,
    ],
  },
  {
    name: 'an extension asks the key alone',
    edits: [
      [
        'rules/levels.ts',
        'raisedWithin(before, most, by.available - by.reserved)',
        'raisedWithin(before, most, by.node === null ? by.means - by.reserved : most)',
      ],
      ...UNCHECKED,
    ],
  },
  {
    name: 'an extension is not checked for tokens',
    edits: [
      ['rules/levels.ts', 'if (most === before) continue;', 'if (most === before || inTokens) continue;'],
      ...UNCHECKED,
    ],
  },
  {
    name: 'a hold gives way although one of another key does not wait',
    edits: [
      [
        'engine/balance.ts',
        'if (node === null || state.path === null) {\n    yield*',
        'if (node !== undefined || state.path === null) {\n    yield*',
      ],
    ],
  },
  {
    name: 'no hold gives way where all below an account wait for each other',
    edits: [
      [
        'engine/balance.ts',
        'mustYield(holdsAt(keys, state, decision.by), hold) ?',
        'decision.by.node === null && mustYield(holdsAt(keys, state, decision.by), hold) ?',
      ],
    ],
  },
  {
    name: 'a slot of the key stays taken where an account refuses',
    edits: [
      [
        'engine/admit.ts',
        '  for (const node of nodesAbove(state)) {\n    if (node.account.rpmLimit === null)',
        '  if (key.rpmLimit !== null) keys.rates.takeRequest(key.id, window, nowMs);\n  for (const node of nodesAbove(state)) {\n    if (node.account.rpmLimit === null)',
      ],
      ['engine/admit.ts', '  if (key.rpmLimit !== null) keys.rates.takeRequest(key.id, window, keys.steadyMs);\n', ''],
    ],
  },
  {
    name: 'the rate limit of an account does not count',
    edits: [
      [
        'engine/admit.ts',
        'if (node.account.rpmLimit === null) continue;',
        'if (node.account.rpmLimit !== 0) continue;',
      ],
    ],
  },
  {
    name: 'keys of a suspended account are served',
    edits: [['engine/admit.ts', "if (account.status !== 'active') return", "if (account.status === 'closed') return"]],
  },
  {
    name: 'an account moves while something below it is held',
    edits: [
      [
        'rules/account-rules.ts',
        "return node.liveHolds > 0 ? 'requests below the account",
        "return node.liveHolds < 0 ? 'requests below the account",
      ],
    ],
  },
  {
    name: 'a key moves or joins while it holds something',
    edits: [
      [
        'rules/account-rules.ts',
        "return liveHolds > 0 ? 'requests of the key",
        "return liveHolds < 0 ? 'requests of the key",
      ],
    ],
  },
  {
    name: 'an account moves below another root',
    edits: [
      [
        'books/accounts.ts',
        'wrongMove(nodes, node, nodes.get(parentId))',
        'wrongMove(nodes, node, (yield* books.account(parentId))?.node)',
      ],
    ],
  },
  {
    name: 'a key moves below another root',
    edits: [['books/accounts.ts', 'if (key.rootId !== rootId) return', "if (rootId === '') return"]],
  },
  {
    name: 'an account can be below itself',
    edits: [['rules/account-rules.ts', 'account.id === node.account.id', 'account.id === null']],
  },
  {
    name: 'a move makes a tree too deep',
    edits: [
      [
        'rules/account-rules.ts',
        'path.length + heightOf(tree, node.account.id) > ACCOUNT_LEVELS_MAX',
        'path.length > ACCOUNT_LEVELS_MAX',
      ],
    ],
  },
  {
    name: 'keys go on below the old place of an account that moved',
    edits: [['sqlite/books.ts', 'this.#keys.recomputePaths(tree);', ';']],
  },
  {
    name: 'the balance of a key that joins is lost',
    edits: [['books/accounts.ts', 'root.purchased += balance;', '']],
  },
  {
    name: 'the balance of a key that joins arrives twice',
    edits: [['books/accounts.ts', 'root.purchased += balance;', 'root.purchased += 2n * balance;']],
  },
  {
    name: 'a join that is sent again is refused',
    edits: [
      [
        'books/accounts.ts',
        "if (totals.key.accountId === accountId) return { kind: 'changed', key: totals.key };\n    return",
        'return',
      ],
    ],
  },
  {
    name: 'a key that joins forgets what it spent in the period of its cap',
    edits: [['books/accounts.ts', 'yield* countPeriodAnew(books, key, nowMs);', 'yield* books.saveTotals(key);']],
  },
  {
    name: 'an account below the root buys credit',
    edits: [
      [
        'rules/account-rules.ts',
        "if (parentId !== null) return 'credit is bought",
        "if (parentId === '') return 'credit is bought",
      ],
      [SCHEMA, 'CHECK (parent_id IS NULL OR purchased = 0)', 'CHECK (TRUE)'],
    ],
  },
  {
    name: 'a purchase of a root that is sent again is booked again',
    edits: [
      ['books/money.ts', 'if (booked !== undefined) {', 'if (booked !== undefined && createdAtMs !== null) {'],
      REPEATED_ENTRY_IGNORED,
    ],
  },
  {
    name: 'an account with open keys or accounts is closed',
    edits: [['rules/account-rules.ts', 'if (inUse) return', 'if (inUse === null) return']],
  },
  {
    name: 'a cap is set below what is held',
    edits: [
      ['rules/account-rules.ts', 'wrongAccountLimits(next) ?? wrongCaps(node, change)', 'wrongAccountLimits(next)'],
    ],
  },
  {
    name: 'the credit of a cap is not renewed',
    edits: [['rules/tree.ts', 'node.creditUsed = 0n;', '']],
  },
  {
    name: 'the tokens of a cap are not renewed',
    edits: [['rules/tree.ts', 'node.tokensUsed = 0n;', '']],
  },
  {
    name: 'a cap with another period forgets what was spent in it',
    edits: [['books/accounts.ts', 'const used = row === undefined ? 0n : amount(row, unit);', 'const used = 0n;']],
  },
  {
    name: 'recovery forgets the tokens of a call',
    edits: [['engine/recover.ts', 'chargeTokens: BigInt(totalTokens(usage.tokens)),', '']],
  },
  {
    name: 'sums of accounts are not written when a hold ends',
    edits: [['engine/hold.ts', 'keys.markNodeDirty(node);\n    node.holdMs', 'node.holdMs']],
  },
  {
    name: 'the file counts holds at accounts that it does not have',
    edits: [['sqlite/tree-cache.ts', '    node.persistedReservedTokens,\n', '    node.reservedTokens,\n']],
  },
  {
    name: 'a rollback forgets at accounts what only memory holds',
    edits: [
      [
        'sqlite/key-cache.ts',
        'reserve(state, nodesOf(state, hold), hold.amount, hold.tokens, 1);',
        'reserve(state, [], hold.amount, hold.tokens, 1);',
      ],
      ...UNCHECKED,
    ],
  },
  {
    name: 'a rollback leaves the sums of accounts as they were',
    edits: [['sqlite/key-cache.ts', 'this.trees.drop();', '']],
  },
];
