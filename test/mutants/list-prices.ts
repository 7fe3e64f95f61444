import type { Mutant } from './list.ts';

const DECLARED = 'test/gateway/billing/declared-tools.test.ts';
const LIFETIMES = 'test/gateway/billing/cache-lifetimes.test.ts';

export const PRICE_MUTANTS: readonly Mutant[] = [
  {
    name: 'hosted tools: those that a block declares are free',
    edits: [
      ['wire/messages/validate-request.ts', 'else hosted.push(...declaredBy(block, at));', 'else void declaredBy;'],
    ],
    tests: [[DECLARED, 'a hosted tool, wherever it is declared']],
  },
  {
    name: 'hosted tools: each declaration has all calls of the request',
    edits: [
      [
        'exchange/hosted-tools.ts',
        'Math.floor(price.maxCalls / declarations)',
        'Math.max(price.maxCalls, declarations)',
      ],
    ],
    tests: [[DECLARED, 'several declarations share the calls']],
  },
  {
    name: 'hosted tools: a tool may name any model',
    edits: [['exchange/hosted-tools.ts', 'if (id === undefined) return holder;', "if (id !== '') return holder;"]],
    tests: [[DECLARED, 'a model that a tool names']],
  },
  {
    name: 'hosted tools: what begins like a tool of the client is one',
    edits: [['wire/messages/hosted-tools.ts', '|browser_toolset)_\\d{8}$/', '|browser_toolset)_/']],
    tests: [[DECLARED, 'what only looks like a tool of the client']],
  },
  {
    name: 'cache writes: the longer lifetime needs no price',
    edits: [
      ['exchange/lanes.ts', 'if (unpricedLifetime !== null) refuseLifetime(unpricedLifetime);', 'void refuseLifetime;'],
    ],
    tests: [[LIFETIMES, 'a longer one needs a price']],
  },
  {
    name: 'cache writes: those of twelve hours cost what those of thirty minutes cost',
    edits: [
      [
        'wire/usage.ts',
        'cacheWrite: written - long,\n    cacheWrite1h: long,',
        'cacheWrite: written,\n    cacheWrite1h: 0,',
      ],
    ],
    tests: [[LIFETIMES, 'each write is charged at the price of its lifetime']],
  },
  {
    name: 'service tier: auto is left to the provider',
    edits: [
      ['exchange/lanes.ts', "if (request.body.service_tier !== 'auto' || ", "if (request.body.service_tier !== '' || "],
    ],
    tests: [['test/gateway/billing/service-tiers.test.ts', 'auto is sent as the plain service']],
  },
  {
    name: 'service tier: one without a price is charged at the plain price, whatever was asked for',
    edits: [
      [
        'core/price-terms.ts',
        'multiplier ?? atLeastPlain(pricing, provider, field, askedFields[field])',
        'multiplier ?? ONE',
      ],
    ],
    tests: [['test/unit/core/price-terms.test.ts', 'charged as what was asked for']],
  },
  {
    name: 'tool_usage: output items are counted all the same',
    edits: [['wire/reported-terms.ts', 'if (searches !== undefined) calls.web_search = searches;', 'void searches;']],
    tests: [['test/gateway/billing/tool-usage.test.ts', 'tool_usage']],
  },
];
