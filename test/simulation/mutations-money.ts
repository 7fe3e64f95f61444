/** Ways to break refunds, corrections and promotional credit: each rule on its own. */
import type { Mutation } from './mutations.ts';

/** The schema's own checks would notice many of these by themselves; without them only the simulation can. */
const UNCHECKED = [
  [
    'migrations/sqlite/0001-ledger.sql',
    "CHECK (mode <> 'credit' OR purchased - used - reserved >= 0)",
    'CHECK (TRUE)',
  ] as const,
  [
    'migrations/sqlite/0007-account-tree.sql',
    'CHECK (parent_id IS NOT NULL OR purchased - used - reserved >= 0)',
    'CHECK (TRUE)',
  ] as const,
];

/** Of everything but charges. */
export const REPEATED_ENTRY_IGNORED = [
  'books/entries.ts',
  '\n    ADD,\n',
  "\n    ADD.replace('INTO', 'OR IGNORE INTO'),\n",
] as const;

export const MONEY_MUTATIONS: readonly Mutation[] = [
  {
    name: 'a request is refunded beyond its charge',
    edits: [['rules/money-rules.ts', 'if (amount > left) {', 'if (amount < 0n) {']],
  },
  {
    name: 'earlier refunds of a request are forgotten',
    edits: [['rules/money-rules.ts', 'const left = charged - refunded;', 'const left = charged;']],
  },
  {
    name: 'a refund that is sent again is refused',
    edits: [
      [
        'books/money.ts',
        'return same && (amountNanos ?? booked) === booked ? done(booked, 0n) : refused',
        'return refused',
      ],
    ],
  },
  {
    name: 'a refund that is sent again for another request counts as booked',
    edits: [['books/money.ts', 'return same && (amountNanos ?? booked)', 'return (amountNanos ?? booked)']],
  },
  {
    name: 'a refund goes to the key although its account paid',
    edits: [
      ['books/money.ts', 'const root = key.rootId === null ? null :', 'const root = key.rootId !== undefined ? null :'],
    ],
  },
  {
    name: 'a refund gives a token budget credit',
    edits: [['books/money.ts', "if (key.totals.key.mode !== 'credit') return refused(NO_CREDIT_CHARGED);", '']],
  },
  {
    name: 'a correction takes what is held',
    edits: [
      [
        'rules/money-rules.ts',
        'const held = payer.reserved > promotional ? payer.reserved : promotional;',
        'const held = promotional;',
      ],
      ...UNCHECKED,
    ],
  },
  {
    name: 'a correction takes promotional credit',
    edits: [
      [
        'rules/money-rules.ts',
        'const held = payer.reserved > promotional ? payer.reserved : promotional;',
        'const held = payer.reserved;',
      ],
    ],
  },
  {
    name: 'an account below the root has its balance corrected',
    edits: [
      ['books/money.ts', 'const wrong = parentId === null ? null :', 'const wrong = parentId !== undefined ? null :'],
      ['migrations/sqlite/0007-account-tree.sql', 'CHECK (parent_id IS NULL OR purchased = 0)', 'CHECK (TRUE)'],
    ],
  },
  {
    name: 'promotional credit is not spent first',
    edits: [['engine/hold.ts', '  spendPromotions(keys, state, hold, charged);\n', '']],
  },
  {
    name: 'the promotional credit that expires last is spent first',
    edits: [
      [
        'rules/promotions.ts',
        'for (const promotion of promotions) {\n    if (rest',
        'for (const promotion of promotions.toReversed()) {\n    if (rest',
      ],
    ],
  },
  {
    name: 'promotional credit never expires',
    edits: [
      ['rules/promotions.ts', 'if (promotion.expiresAtMs > nowMs) break;', 'if (promotion.expiresAtMs > 0) break;'],
    ],
  },
  {
    name: 'promotional credit expires a millisecond late',
    edits: [
      [
        'rules/promotions.ts',
        'if (promotion.expiresAtMs > nowMs) break;',
        'if (promotion.expiresAtMs >= nowMs) break;',
      ],
    ],
  },
  {
    name: 'promotional credit expires although it is held',
    edits: [
      ['rules/promotions.ts', 'const needed = heldBefore(promotion.expiresAtMs) - kept;', 'const needed = -kept;'],
      ...UNCHECKED,
    ],
  },
  {
    name: 'one hold keeps several promotions from expiring',
    edits: [['rules/promotions.ts', '    kept += keep;\n', '']],
  },
  {
    name: 'holds of after the expiry keep promotional credit',
    edits: [['engine/promotions.ts', ' && hold.heldAtMs < atMs) held', ') held']],
  },
  {
    name: 'a hold of after the expiry spends what others keep',
    edits: [['rules/promotions.ts', 'if (promotion.expiresAtMs <= heldAtMs) continue;', ''], ...UNCHECKED],
  },
  {
    name: 'holds of token budgets keep the promotional credit of their root',
    edits: [['engine/promotions.ts', "if (hold.mode === 'credit' && hold.heldAtMs", 'if (hold.heldAtMs']],
  },
  {
    name: 'an admission sees what has expired as credit',
    edits: [['engine/admit.ts', '  expirePromotions(keys, state);\n', ''], ...UNCHECKED],
  },
  {
    name: 'memory alone admits with credit that has expired',
    edits: [
      [
        'engine/admit.ts',
        "if (inMemory && isDue(state, keys.nowMs)) throw new Refusal('promotional credit has expired');",
        '',
      ],
      ['engine/admit.ts', '  expirePromotions(keys, state);\n', '  if (!inMemory) expirePromotions(keys, state);\n'],
      ...UNCHECKED,
    ],
  },
  {
    name: 'an extension sees what has expired as credit',
    edits: [
      [
        'engine/hold.ts',
        '  expirePromotions(keys, state);\n  const decision = decideExtension',
        '  const decision = decideExtension',
      ],
      ...UNCHECKED,
    ],
  },
  {
    name: 'what has expired is still shown',
    edits: [['engine/summary.ts', '  expirePromotions(keys, state);\n', '']],
  },
  {
    name: 'what has expired stays in the balance',
    edits: [['engine/promotions.ts', '    addPurchased(keys, payer, -expired);\n', '']],
  },
  {
    name: 'promotional credit is booked that has expired already',
    edits: [['rules/promotions.ts', 'return expiresAtMs <= nowMs ?', 'return expiresAtMs < 0 ?']],
  },
  {
    name: 'promotional credit that is sent again is booked again',
    edits: [
      ['books/money.ts', "    (yield* findEntry(nodeId, 'promotion', entryId)) ??\n", ''],
      REPEATED_ENTRY_IGNORED,
      ['books/money.ts', "'INSERT INTO @promotions (", "'INSERT OR IGNORE INTO @promotions ("],
    ],
  },
  {
    name: 'promotional credit of a key that joins an account becomes purchased',
    edits: [['books/accounts.ts', '    yield* movePromotions(keyId, rootId);\n', '']],
  },
  {
    name: 'a restart forgets promotional credit',
    edits: [
      [
        'sqlite/key-cache.ts',
        'promotions: totals.promoMs === null ? null :',
        'promotions: totals.promoMs !== 0 ? null :',
      ],
    ],
  },
];
