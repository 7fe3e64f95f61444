/** Ways to break the limits on tokens per minute and on parallel requests, and what keys carry of their accounts. */
import type { Mutation } from './mutations.ts';

export const LIMIT_MUTATIONS: readonly Mutation[] = [
  {
    name: 'tokens of input are not counted',
    edits: [['engine/admit.ts', 'countTokens(keys, state, nodesAbove(state), hold.inputTokens ?? 0);', '']],
  },
  {
    name: 'tokens of output are not counted',
    edits: [
      [
        'engine/hold.ts',
        'countTokens(keys, state, nodes, request.usage?.tokens.output ?? request.outputTokens ?? 0);',
        '',
      ],
    ],
  },
  {
    name: 'tokens of a cancelled call are not counted',
    edits: [['engine/hold.ts', '?? request.outputTokens ?? 0', '?? 0']],
  },
  {
    name: 'tokens are counted at the key alone',
    edits: [['engine/admit.ts', 'if (account.tpmLimit !== null) rates.takeTokens(account.id, tokens, steadyMs);', '']],
  },
  {
    name: 'tokens are counted at accounts alone',
    edits: [['engine/admit.ts', 'if (key.tpmLimit !== null) rates.takeTokens(key.id, tokens, steadyMs);', '']],
  },
  {
    name: 'tokens of a request are counted that is refused for another reason',
    edits: [
      ['engine/admit.ts', '  countTokens(keys, state, nodesAbove(state), hold.inputTokens ?? 0);\n', ''],
      [
        'engine/admit.ts',
        '  rollOverAll(state, keys.nowMs);\n  const decision',
        '  countTokens(keys, state, nodesAbove(state), hold.inputTokens ?? 0);\n  rollOverAll(state, keys.nowMs);\n  const decision',
      ],
    ],
  },
  {
    name: 'the limit on tokens is off by one',
    edits: [['sqlite/token-window.ts', 'if (over <= 0) return 0;', 'if (over <= 1) return 0;']],
  },
  {
    name: 'the wait for tokens is that of the oldest',
    edits: [['sqlite/token-window.ts', 'return over <= 0;', 'return true;']],
  },
  {
    name: 'tokens that have left the window still count',
    edits: [['sqlite/token-window.ts', 'this.#sum -= tokens;\n', ';\n']],
  },
  {
    name: 'input that is more than the whole limit waits for an empty window',
    edits: [['engine/admit.ts', 'const tooLarge = inputTokens > tpmLimit;', 'const tooLarge = false;']],
  },
  {
    name: 'parallel requests are off by one',
    edits: [['engine/admit.ts', 'liveHolds < parallelLimit', 'liveHolds <= parallelLimit']],
  },
  {
    name: 'parallel requests of an account are not limited',
    edits: [
      [
        'engine/admit.ts',
        'if (account.tpmLimit === null && account.parallelLimit === null)',
        'if (account.tpmLimit === null)',
      ],
    ],
  },
  {
    name: 'parallel requests of a key are not limited',
    edits: [['engine/admit.ts', 'key.tpmLimit !== null || key.parallelLimit !== null', 'key.tpmLimit !== null']],
  },
  {
    name: 'a request that was counted before passes the limits on tokens and parallel requests',
    edits: [
      [
        'engine/admit.ts',
        'if (hold !== null && repeated === null) {',
        'if (hold !== null && repeated === null && request.rateCounted !== true) {',
      ],
    ],
  },
  {
    name: 'a place of the key stays taken where its limit on tokens refuses',
    edits: [
      [
        'engine/admit.ts',
        '  if (hold !== null && repeated === null) {',
        '  if (request.rateCounted !== true) takeRateSlots(keys, state);\n  if (hold !== null && repeated === null) {',
      ],
      [
        'engine/admit.ts',
        '  if (request.rateCounted !== true) takeRateSlots(keys, state);\n  const rate = ',
        '  const rate = ',
      ],
    ],
  },
  {
    name: 'a repeat is refused by limits on tokens and parallel requests',
    edits: [['engine/admit.ts', 'if (hold !== null && repeated === null) {', 'if (hold !== null) {']],
  },
  {
    name: 'a repeat takes no place in requests per minute',
    edits: [
      [
        'engine/admit.ts',
        '  if (request.rateCounted !== true) takeRateSlots(keys, state);',
        '  if (request.rateCounted !== true && repeated === null) takeRateSlots(keys, state);',
      ],
    ],
  },
  {
    name: 'a restart forgets the tokens of the last minute',
    edits: [
      [
        'sqlite/engine.ts',
        "database.exec('DELETE FROM owners');",
        "database.exec('DELETE FROM owners; DELETE FROM token_rates');",
      ],
    ],
  },
  {
    name: 'tokens are forgotten at a crash before they were saved',
    edits: [
      [
        'sqlite/rate-windows.ts',
        'this.#journal.append({ keyId: id, number: window.nextNumber, atMs: nowMs, tokens });',
        '',
      ],
    ],
  },
  {
    name: 'a start does not read tokens from the journal',
    edits: [
      ['sqlite/rate-journal.ts', 'unsavedRuns(sql.tokenRatesOfKey, tokens)', 'unsavedRuns(sql.tokenRatesOfKey, [])'],
    ],
  },
  {
    name: 'the journal is emptied before all tokens are saved',
    edits: [
      [
        'sqlite/rate-windows.ts',
        'return this.#unsavedRates.size > 0 || this.#unsavedTokens.size > 0;',
        'return this.#unsavedRates.size > 0;',
      ],
    ],
  },
  {
    name: 'tokens that a failed batch counted stay counted',
    edits: [
      [
        'sqlite/rate-windows.ts',
        'window.take(nowMs, tokens);\n    this.#taken.push(window);',
        'window.take(nowMs, tokens);',
      ],
    ],
  },
  {
    name: 'tokens of a run that was saved are saved again with the next one',
    edits: [['sqlite/token-window.ts', 'this.#unsaved = this.#unsaved.slice(this.#unsaved.length - left);', '']],
  },
  {
    name: 'keys go on with what an account allowed before',
    edits: [
      ['books/accounts.ts', 'yield* inheritAnew(books, inHand);\n  if (account.creditCap', 'if (account.creditCap'],
    ],
  },
  {
    name: 'keys go on with what the accounts above allowed before a move',
    edits: [['books/accounts.ts', '  yield* inheritAnew(books, inHand);\n  return', '  return']],
  },
  {
    name: 'a key that moves or joins goes on with what was allowed before',
    edits: [['books/accounts.ts', '{ ...key, accountId, inherited, version', '{ ...key, accountId, version']],
  },
  {
    name: 'a key does not carry that an account above it limits tokens per minute',
    edits: [['rules/limits.ts', 'const tpmLimited = account.tpmLimit !== null;', 'const tpmLimited = false;']],
  },
  {
    name: 'a key that is allowed something else has the version that it had',
    edits: [
      ['books/accounts.ts', 'SET inherited = n.inherited, version = k.version + 1', 'SET inherited = n.inherited'],
    ],
  },
];
