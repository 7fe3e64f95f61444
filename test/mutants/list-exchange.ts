import type { Mutant } from './list.ts';

const HOLDS = 'test/gateway/billing/holds.test.ts';
const AUTHENTICATION = 'test/gateway/authentication.test.ts';
const CANCELLATION = 'test/gateway/upstream/cancellation.test.ts';
const STORE_FAILURES = 'test/resilience/chaos/store-failures.test.ts';
const IDEMPOTENCY = 'test/gateway/idempotency.test.ts';
const TIME_OUTS = 'test/gateway/upstream/time-outs.test.ts';
const LATE_COUNTS = 'test/gateway/billing/late-counts.test.ts';
const DRAIN = 'test/gateway/drain.test.ts';
const COMPILED_PLAN = 'test/unit/exchange/compiled-plan.test.ts';

export const EXCHANGE_MUTANTS: readonly Mutant[] = [
  {
    name: 'admission order: the body is read before the credential is judged',
    edits: [
      [
        'exchange/run.ts',
        '  const caller = knownCaller(',
        '  await request.readBody(config.policy.limits.bodyBytes);\n  const caller = knownCaller(',
      ],
    ],
    tests: [[AUTHENTICATION, 'a credential is judged before its body is read']],
  },
  {
    name: 'admission order: a request that is refused for its body takes no place in the rate limit',
    edits: [
      [
        'exchange/admit.ts',
        '    const request = admitRequest(',
        '    if (decision instanceof GatewayError) throw decision;\n    const request = admitRequest(',
      ],
    ],
    tests: [['test/gateway/rate.test.ts', 'a request refused for its body takes its place first']],
  },
  {
    name: 'the input of a request does not count for the limit of an account on tokens per minute',
    edits: [
      [
        'exchange/admit.ts',
        'return tpmLimit !== null || inherited.some(({ tpmLimited }) => tpmLimited);',
        'return tpmLimit !== null || inherited.length < 0;',
      ],
    ],
    tests: [['test/gateway/billing/limits.test.ts', '[R72] of an account that had none']],
  },
  {
    name: 'admission order: the Idempotency-Key is judged before the context window',
    edits: [
      [
        'exchange/admit.ts',
        'if (plan.input.mayExceedWindow) return counted ? countLate() : { plan, hold: null };',
        'if (plan.input.mayExceedWindow) return counted ? countLate() : (idempotencyKeyProblem(input.request.headers) ?? { plan, hold: null });',
      ],
    ],
    tests: [['test/gateway/billing/counting.test.ts', '[R26] [R63] the context comes before the Idempotency-Key']],
  },
  {
    name: 'late counts: what may exceed the window is admitted',
    edits: [
      [
        'exchange/admit.ts',
        'if (plan.input.mayExceedWindow) return counted ? countLate() : { plan, hold: null };',
        'if (!counted && plan.input.mayExceedWindow) return { plan, hold: null };',
      ],
    ],
    tests: [[LATE_COUNTS, 'of a prompt that may be too long is a 503']],
  },
  {
    name: 'late counts: a balance that only a count can judge is a 402',
    edits: [
      [
        'exchange/admit.ts',
        'if (progress.counted) throw countLate();',
        'if (progress.counted) return admittedBy(gateway, input, caller, decision, outcome);',
      ],
    ],
    tests: [[LATE_COUNTS, 'never a 402']],
  },
  {
    name: 'late counts: a prompt of dozens of windows has no lower bound',
    edits: [['counting/input-estimate.ts', 'Math.max(counted, Math.floor(this.#likely() / 2))', 'counted']],
    tests: [[LATE_COUNTS, 'by its lower bound']],
  },
  {
    name: 'counting: keys do not take turns',
    edits: [['counting/exact-counter.ts', '      this.#moveToEnd(count.keyId);\n', '']],
    tests: [['test/unit/counting/exact-count.test.ts', 'keys take turns']],
  },
  {
    name: 'hold bounds: the likely input is held instead of the most that it can be',
    edits: [
      [
        'exchange/price.ts',
        'return worst(mode, plan, plan.input.high * plan.runs, outputTokens);',
        'return worst(mode, plan, plan.input.likely * plan.runs, outputTokens);',
      ],
    ],
    tests: [[HOLDS, 'the worst case is held while it runs']],
  },
  {
    name: 'hold bounds: n does not multiply the output',
    edits: [['exchange/price.ts', 'return plan.request.info.choices * plan.runs;', 'return plan.runs;']],
    tests: [[HOLDS, 'n multiplies the output bound']],
  },
  {
    name: 'hold bounds: the output limit does not shrink to what is held',
    edits: [
      [
        'exchange/price.ts',
        'return Math.min(plan.outputLimit, Math.floor(tokens / answersOf(plan)));',
        'return Math.max(plan.outputLimit, tokens * 0);',
      ],
    ],
    tests: [[HOLDS, 'it shrinks to what the balance affords']],
  },
  {
    name: 'hold bounds: the plain price is held, not the dearest class',
    edits: [
      [
        'core/money.ts',
        'input = dearer(dearer(input, rates.input), dearer(cacheRead, dearer(cacheWrite, cacheWrite1h)));',
        'input = dearer(input, rates.input);\n    void [cacheRead, cacheWrite, cacheWrite1h];',
      ],
    ],
    tests: [[HOLDS, 'held at the dearest price class']],
  },
  {
    name: 'a cost is rounded down',
    edits: [
      ['core/money.ts', 'return (numerator + denominator - 1n) / denominator;', 'return numerator / denominator;'],
    ],
    tests: [['test/unit/core/money.test.ts']],
  },
  {
    name: 'an answer that is owed and unfit is given away',
    edits: [['exchange/attempt.ts', 'const meter = owed ?? (', 'const meter = (owed && null) ?? (']],
    tests: [['test/gateway/upstream/json-mode.test.ts', 'whole']],
  },
  {
    name: 'a charge beyond the hold is not flagged',
    edits: [['exchange/meter.ts', 'if (owed > held) {', 'if (owed < 0n) {']],
    tests: [['test/unit/exchange/meter.test.ts', 'is flagged']],
  },
  {
    name: 'settle before the last byte: nothing waits for the charge',
    edits: [
      [
        'exchange/run.ts',
        "exchange.checkCharged(await exchange.settle(end.meter, 'complete', contentType, kept));",
        "void exchange.settle(end.meter, 'complete', contentType, kept).catch(() => {});",
      ],
    ],
    tests: [[STORE_FAILURES, 'the stream goes on, only its end waits for the charge']],
  },
  {
    name: 'settle before the last byte: a whole answer does not wait',
    edits: [
      [
        'exchange/run.ts',
        '  try {\n    exchange.checkCharged(',
        '  if (!exchange.info.stream && !isLate) response.send(200, contentType, terminal);\n  try {\n    exchange.checkCharged(',
      ],
      [
        'exchange/run.ts',
        'if (!exchange.info.stream && !isLate) response.send(200, contentType, terminal);\n  else {',
        'if (exchange.info.stream) {',
      ],
    ],
    tests: [[STORE_FAILURES, 'a whole answer waits with its body']],
  },
  {
    name: 'settle before the last byte: an answer whose hold another process has ended is sent complete',
    edits: [['exchange/exchange.ts', "    throw new GatewayError('service_unavailable', LOST);", '    void LOST;']],
    tests: [['test/resilience/chaos/ended-elsewhere.test.ts']],
  },
  {
    name: 'a settlement that the store did not take is not sent again',
    edits: [
      [
        'exchange/admission.ts',
        'setTimeout(attempt, retryInMs, Math.min(retryInMs * 2, RETRY_MAX_MS)).unref();',
        'void RETRY_MAX_MS;',
      ],
    ],
    tests: [[STORE_FAILURES, 'the end waits only so long']],
  },
  {
    name: 'a hold may end twice',
    edits: [
      ['exchange/admission.ts', 'if (this.#ended) throw new Error', 'if (this.#over && !this.#ended) throw new Error'],
    ],
    tests: [['test/unit/exchange/admission.test.ts']],
  },
  {
    name: 'progress is not marked',
    edits: [['exchange/in-flight.ts', 'if (mark) this.#ledger.mark(mark);', 'void mark;']],
    tests: [['test/resilience/crash/kill.test.ts', 'kill -9 under load']],
  },
  {
    name: 'cancellation charge: a stream that its client leaves is free',
    edits: [
      [
        'exchange/run.ts',
        "const owed = end.kind === 'stopped' ? end.accepted",
        "const owed = end.kind === 'stopped' ? false",
      ],
    ],
    tests: [[CANCELLATION, 'mid-stream: closed at once, what was produced is charged, no usage record (chat)']],
  },
  {
    name: 'cancellation charge: it leaves a usage record',
    edits: [
      [
        'exchange/exchange.ts',
        "const recorded = outcome !== 'cancelled' || this.run !== null;",
        'const recorded = true;',
      ],
    ],
    tests: [[CANCELLATION, 'mid-stream: closed at once, what was produced is charged, no usage record (chat)']],
  },
  {
    name: 'cancellation charge: a call that the provider has not accepted is charged',
    edits: [['exchange/run.ts', "end.kind === 'stopped' ? end.accepted", "end.kind === 'stopped' ? true"]],
    tests: [[CANCELLATION, 'before the headers of the provider']],
  },
  {
    name: 'a client that goes away leaves the provider running',
    edits: [
      [
        'exchange/attempt.ts',
        "    this.#handle?.abort();\n    this.#end({ kind: 'stopped'",
        "    this.#end({ kind: 'stopped'",
      ],
    ],
    tests: [[CANCELLATION, 'mid-stream: closed at once, what was produced is charged, no usage record (chat)']],
  },
  {
    name: 'a stream that breaks after content is free',
    edits: [['exchange/run.ts', 'end.accepted : end.meter !== null;', 'end.accepted : false;']],
    tests: [
      [
        'test/gateway/upstream/broken-answers.test.ts',
        'mid-stream: in-band failure, billed with a record, never retried (chat)',
      ],
    ],
  },
  {
    name: 'another target is asked after content was sent',
    edits: [['exchange/run.ts', ' || exchange.response.headersSent) break;', ') break;']],
    tests: [['test/gateway/upstream/routing.test.ts', 'never after content was sent']],
  },
  {
    name: 'a request that is itself at fault is sent to the next target',
    edits: [
      ['exchange/run.ts', "end.retry === 'never' || ", ''],
      ['routing/target-sequence.ts', "if (failure.retry === 'never') {", 'if (failure.retry === undefined) {'],
    ],
    tests: [['test/gateway/upstream/routing.test.ts', 'a 400 is the client’s own']],
  },
  {
    name: 'keep-alives: into the middle of a frame',
    edits: [['exchange/attempt.ts', '!this.#blocked && this.#betweenFrames()) response', '!this.#blocked) response']],
    tests: [[TIME_OUTS, 'never gets a keep-alive into the middle of a frame (chat)']],
  },
  {
    name: 'keep-alives: none are sent',
    edits: [['exchange/attempt.ts', 'response.write(keepAlive);', 'void keepAlive;']],
    tests: [[TIME_OUTS, '[R47]']],
  },
  {
    name: 'keep-alives: a silent stream is never begun',
    edits: [['exchange/attempt.ts', 'if (this.#stream) this.#armSilence(this.#options.streams.headersWaitMs);', '']],
    tests: [[TIME_OUTS, '[R47] is begun some time after']],
  },
  {
    name: 'a client that reads slowly does not hold the provider up',
    edits: [
      [
        'exchange/attempt.ts',
        '      this.#blocked = true;\n      this.#handle?.pause();',
        '      this.#blocked = true;',
      ],
    ],
    tests: [['test/gateway/upstream/back-pressure.test.ts', 'holds the provider up']],
  },
  {
    name: 'the total time of a stream is not limited',
    edits: [['exchange/exchange.ts', "else this.#stop('deadline');", '']],
    tests: [[TIME_OUTS, 'for longer than a stream may take: in-band, billed like a cancellation (chat)']],
  },
  {
    name: 'replay: a stored stream lacks its end',
    edits: [['exchange/run.ts', 'exchange.recorder?.add(terminal);', '']],
    tests: [[IDEMPOTENCY, '[R20] [R21]']],
  },
  {
    name: 'replay: the path is not part of the fingerprint',
    edits: [['exchange/admit.ts', "fingerprintOf('POST', request.path, ", "fingerprintOf('POST', '', "]],
    tests: [[IDEMPOTENCY, 'another body, path or only another space is a conflict']],
  },
  {
    name: 'replay: the body is not part of the fingerprint',
    edits: [['exchange/admit.ts', 'request.path, decision.plan.request.received)', 'request.path, Buffer.alloc(0))']],
    tests: [[IDEMPOTENCY, 'another body, path or only another space is a conflict']],
  },
  {
    name: 'drain: a charge that is not durable yet is not waited for',
    edits: [
      [
        'exchange/run.ts',
        '    exchange.whenOver(() => {\n      gateway.inFlight.remove(node);\n',
        '    gateway.inFlight.remove(node);\n    exchange.whenOver(() => {\n',
      ],
    ],
    tests: [['test/gateway/late-commit.test.ts', 'still made when the gateway is told to stop']],
  },
  {
    name: 'drain: requests that have not been admitted are not waited for',
    edits: [
      ['exchange/in-flight.ts', '(this.#stopping || this.#requests === 0)', '(this.#stopping || this.#requests >= 0)'],
    ],
    tests: [[DRAIN, 'a drain waits for a request that has not been admitted yet']],
  },
  {
    name: 'drain: nothing is stopped at the deadline',
    edits: [['exchange/in-flight.ts', "    for (const exchange of this.#live.values()) exchange.stop('drain');\n", '']],
    tests: [[DRAIN, 'at the deadline what runs is stopped']],
  },
  {
    name: 'auth: a secret that was revoked goes on working from the cache',
    edits: [['exchange/admit.ts', "if (!key) throw keyRefused('revoked');", 'if (!key) return caller;']],
    tests: [[AUTHENTICATION, 'the revoked one stops working at once']],
  },
  {
    name: 'auth: a key works at the other origin',
    edits: [
      [
        'exchange/authenticate.ts',
        'if (caller.key.mode !== request.originMode) {',
        'if (caller.key.mode === undefined) {',
      ],
    ],
    tests: [[AUTHENTICATION, 'a key at the other origin']],
  },
  {
    name: 'auth: an expired key works',
    edits: [['core/key.ts', 'key.expiresAtMs <= nowMs', 'key.expiresAtMs < 0']],
    tests: [[AUTHENTICATION, 'expired is derived', '[R1] [R3] [R4]']],
  },
  {
    name: 'auth: two credentials are accepted',
    edits: [
      [
        'exchange/authenticate.ts',
        'if (authorization !== null && apiKey !== null)',
        'if (authorization === undefined)',
      ],
    ],
    tests: [[AUTHENTICATION, 'two credentials in one request are refused']],
  },
  {
    name: 'auth: a mistyped key is looked up',
    edits: [
      ['core/key.ts', ' && checksum(text.slice(0, -CHECKSUM_CHARACTERS)) === text.slice(-CHECKSUM_CHARACTERS)', ''],
    ],
    tests: [[AUTHENTICATION, 'every single mistyped character is noticed']],
  },
  {
    name: 'auth: the scope of a key is not looked at',
    edits: [['exchange/make-plan.ts', 'return mayUse(key, model) ? model', 'return model.id.length > 0 ? model']],
    tests: [[AUTHENTICATION, 'a model outside of the entitlements is a 403']],
  },
  {
    name: 'compiled plans: a key gets the one of another scope',
    edits: [['exchange/compiled-plan.ts', 'one.scope === scope && ', '']],
    tests: [[COMPILED_PLAN]],
  },
  {
    name: 'compiled plans: a client gets the one of another format',
    edits: [['exchange/compiled-plan.ts', ' && one.format === format', '']],
    tests: [[COMPILED_PLAN]],
  },
  {
    name: 'compiled plans: they outlive their catalog',
    edits: [
      ['exchange/compiled-plan.ts', 'getOrInsert(KEPT, catalog, newMap)', 'getOrInsert(KEPT, newMap as never, newMap)'],
    ],
    tests: [[COMPILED_PLAN]],
  },
];
