import type { Mutant } from './list.ts';

const ANSWERS = 'test/gateway/answers.test.ts';
const BROKEN = 'test/gateway/upstream/broken-answers.test.ts';
const BYTES = 'test/gateway/upstream/bytes.test.ts';

const ENCODED: readonly [string] = ['test/unit/wire/encoded-output.test.ts'];

export const WIRE_MUTANTS: readonly Mutant[] = [
  {
    name: 'compactions: sealed for every key',
    edits: [['exchange/seals.ts', "this.#keyId, 'model-gateway compaction'", "'', 'model-gateway compaction'"]],
    tests: [['test/gateway/response-routes.test.ts', '[R79]']],
  },
  {
    name: 'translation: what asks for something now is left out',
    edits: [['wire/translate/tools.ts', 'if (!part.past) refuse(', "if (part.at === '') refuse("]],
    tests: [['test/translate/request.test.ts', '[R43]']],
  },
  {
    name: 'translation: history that cannot be carried is refused',
    edits: [['wire/translate/history.ts', 'index > last ? message', 'index >= 0 ? message']],
    tests: [['test/translate/request.test.ts', '[R81]']],
  },
  {
    name: 'translation: moderation is left out',
    edits: [
      [
        'wire/messages/from-turn.ts',
        "if (settings.moderation !== undefined) refuse('moderation', 'Moderation is not supported by this model.');",
        '',
      ],
    ],
    tests: [['test/gateway/warnings.test.ts', '[R81]']],
  },
  {
    name: 'cost fields: a credit of the operator can be spent',
    edits: [['wire/cost-fields.ts', '  fallback_credit_token: () => false,\n', '']],
    tests: [['test/repo/drift.test.ts', '[R60]']],
  },
  {
    name: 'redaction: the gateway’s own credentials pass',
    edits: [
      [
        'wire/upstream-message.ts',
        "if (secret !== '') out = withoutBeginning(out.replaceAll(secret, REDACTED), secret);",
        'void secret;',
      ],
    ],
    tests: [['test/unit/provider/failure.test.ts']],
  },
  {
    name: 'redaction: values of a provider’s headers pass',
    edits: [['provider/secrets.ts', 'if (HARMLESS_NAME.test(lowerName)) return [];', 'if (lowerName) return [];']],
    tests: [['test/unit/provider/secrets.test.ts'], ['test/gateway/requests/secrets.test.ts']],
  },
  {
    name: 'redaction: what looks like a credential passes',
    edits: [['wire/upstream-message.ts', '(isOpaque(word) ? REDACTED : word)', '(isOpaque(word) ? word : word)']],
    tests: [['test/unit/provider/failure.test.ts']],
  },
  {
    name: 'kept messages: a provider’s own words are kept',
    edits: [['provider/failure.ts', 'kept: redact(kept, secrets)', 'kept: redact(messageOf(body), secrets)']],
    tests: [['test/unit/provider/failure.test.ts', '[F41]'], ['test/gateway/requests/quotations.test.ts']],
  },
  {
    name: 'kept messages: what the gateway quotes of a request is kept',
    edits: [['core/request-text.ts', 'withoutKeys(withoutQuoted(about))', 'withoutKeys(about)']],
    tests: [['test/gateway/requests/quotations.test.ts', 'not where the gateway itself refuses']],
  },
  {
    name: 'json values: as many as a body has room for',
    edits: [['lib/json-values.ts', 'if (values > max) return true;', '']],
    tests: [['test/unit/lib/json-values.test.ts']],
  },
  {
    name: 'json values: as many as a small body has room for',
    edits: [['wire/json/parse-request.ts', 'if (layout.valuesInAll > valuesMax)', 'if (valuesMax < 0)']],
    tests: [['test/unit/wire/json/parse-request.test.ts', '[F43]']],
  },
  {
    name: 'redaction: an error inside a stream is repeated as it is',
    edits: [
      [
        'wire/upstream-failure.ts',
        'redact(raw).slice(0, MESSAGE_CHARACTERS_MAX)',
        'raw.slice(0, MESSAGE_CHARACTERS_MAX)',
      ],
    ],
    tests: [['test/unit/wire/stream-failures.test.ts'], ['test/unit/wire/passthrough/stream.test.ts']],
  },
  {
    name: 'model id: the upstream’s own stays in whole answers',
    edits: [
      [
        'wire/passthrough/whole-answer.ts',
        'const body = answer.model === publicModel ? bytes : renamed(bytes, text, publicModel);',
        'const body = answer.model === publicModel ? bytes : Buffer.from(bytes);',
      ],
    ],
    tests: [[ANSWERS, '[R38] is the one that the client asked for']],
  },
  {
    name: 'model id: the upstream’s own stays in streams',
    edits: [['wire/passthrough/observer.ts', 'edits.replace(valueStart, end, this.#bytes);', 'void edits;']],
    tests: [[ANSWERS, '[R38] so it is in every event of a stream']],
  },
  {
    name: 'model id: the public one is sent upstream',
    edits: [
      [
        'wire/passthrough/passthrough.ts',
        "changes.push({ path: ['model'], json: JSON.stringify(order.upstreamModel) });",
        '',
      ],
    ],
    tests: [
      [ANSWERS, '[R38]'],
      [BYTES, 'a whole answer is the provider’s'],
    ],
  },
  {
    name: 'passthrough edits: the usage chunk that nobody asked for passes',
    edits: [['wire/chat/observe.ts', "return this.#options.usageAsked ? 'hold' : 'drop';", "return 'hold';"]],
    tests: [[ANSWERS, '[R39] the gateway asks for usage']],
  },
  {
    name: 'passthrough edits: the provider is not asked for usage',
    edits: [['wire/chat/format.ts', "changes.push({ path: ['stream_options', 'include_usage'], json: 'true' });", '']],
    tests: [[ANSWERS, '[R39] the gateway asks for usage']],
  },
  {
    name: 'passthrough edits: the output limit is not sent upstream',
    edits: [
      [
        'wire/chat/format.ts',
        'if (body[outputLimitField] !== order.outputLimit) {',
        'if (body[outputLimitField] === null) {',
      ],
    ],
    tests: [['test/gateway/billing/holds.test.ts', 'where the client gave none, the default is sent upstream']],
  },
  {
    name: 'passthrough edits: a first chat delta without content is not completed',
    edits: [
      [
        'wire/chat/observe.ts',
        'return this.#openChoices(frame, edits, before, patches);',
        "void [this.#openChoices, before];\n      return 'event';",
      ],
    ],
    tests: [['test/unit/wire/passthrough/stream.test.ts']],
  },
  {
    name: 'passthrough edits: a comment before the first event is lost',
    edits: [
      [
        'wire/passthrough/passthrough.ts',
        'if (forward !== null) this.#keepPrelude(forward);',
        'void this.#keepPrelude;',
      ],
    ],
    tests: [['test/unit/wire/passthrough/stream.test.ts'], [BYTES]],
  },
  {
    name: 'a stream that was cut off counts as complete',
    edits: [
      [
        'wire/passthrough/passthrough.ts',
        'if (this.#observer.finished && this.#observer.closing !== null) {',
        'if (this.#observer.closing !== null) {',
      ],
    ],
    tests: [[BROKEN, 'mid-stream: in-band failure, billed with a record, never retried (chat)']],
  },
  {
    name: 'a stream that lacks only its terminal frame counts as broken',
    edits: [
      [
        'wire/passthrough/passthrough.ts',
        'if (this.#observer.finished && this.#observer.closing !== null) {',
        'if (this.#observer.closing === undefined) {',
      ],
    ],
    tests: [[BROKEN, 'after the finish reason and before the terminal frame']],
  },
  {
    name: 'a failed chat stream ends like a complete one',
    edits: [['wire/chat/failure.ts', '({ error })}\\n\\n`', '({ error })}\\n\\ndata: [DONE]\\n\\n`']],
    tests: [[BROKEN, 'mid-stream: in-band failure, billed with a record, never retried (chat)']],
  },
  {
    name: 'the tokens of message_start count as final',
    edits: [
      [
        'wire/messages/observe.ts',
        "this.#type === 'message_delta' && typeof usage.output_tokens === 'number'",
        "typeof usage.output_tokens === 'number'",
      ],
    ],
    tests: [
      [
        'test/gateway/upstream/cancellation.test.ts',
        'mid-stream: closed at once, what was produced is charged, no usage record (chat)',
      ],
      [BROKEN, 'mid-stream'],
    ],
  },
  {
    name: 'a responses stream that ends incomplete is broken',
    edits: [['wire/responses/observe.ts', " || type === 'response.incomplete';", ';']],
    tests: [['test/unit/wire/passthrough/stream.test.ts'], ['test/translate/golden.test.ts']],
  },
  {
    name: 'cached input is charged twice',
    edits: [['wire/usage.ts', 'wholeInput : wholeInput - cached,', 'wholeInput : wholeInput,']],
    tests: [['test/unit/wire/passthrough/whole.test.ts'], ['test/translate/round-trip.test.ts']],
  },
  {
    name: 'an impossible usage report is believed',
    edits: [
      [
        'wire/usage.ts',
        "Number.isSafeInteger(value) && value >= 0 ? value : 'insane'",
        "Number.isFinite(value) ? Math.trunc(Math.max(0, value)) : 'insane'",
      ],
    ],
    tests: [[BROKEN, '[F18]']],
  },
  {
    name: 'a part of an unknown type brings nothing',
    edits: [
      [
        'wire/attachments.ts',
        'else if (!known || isMedia(name, value)) others = 1;',
        'else if (known && isMedia(name, value)) others = 1;',
      ],
    ],
    tests: [['test/unit/wire/attachments.test.ts'], ['test/gateway/billing/unknown-parts.test.ts']],
  },
  {
    name: 'a report of no output beside content is believed',
    edits: [['wire/reported-usage.ts', 'tokens.output === 0 && seen > 0', 'tokens.output < 0']],
    tests: [['test/gateway/upstream/impossible-usage.test.ts', 'no output beside content']],
  },
  {
    name: 'usage that was counted is not shown in a stream that passes',
    edits: [
      [
        'wire/passthrough/passthrough.ts',
        'return counted === null ? bytes : this.#observer.showUsage(bytes, counted);',
        'return counted === null ? bytes : bytes;',
      ],
    ],
    tests: [['test/gateway/upstream/impossible-usage.test.ts', 'sees what was counted (streamed)']],
  },
  {
    name: 'text in unknown members of a delta is free',
    edits: [['wire/chat/observe.ts', 'if (known || !isNotText(scanner.key())) this', 'if (known) this']],
    tests: [['test/unit/wire/every-delta.test.ts', '[F48]']],
  },
  {
    name: 'text beside the members that a format names is free',
    edits: [['wire/passthrough/text-beside.ts', 'this.#output.countBeside(scanner);', 'void scanner;']],
    tests: [['test/unit/wire/passthrough/text-beside.test.ts', '[F48]']],
  },
  {
    name: 'labels of a stream are free without end',
    edits: [['wire/generated-text.ts', ' || bytes > this.#left) return', ') return']],
    tests: [['test/unit/wire/passthrough/text-beside.test.ts', 'in small pieces']],
  },
  {
    name: 'text behind escaped names is free',
    edits: [['wire/json/frame-checks.ts', "if (scanner.key().includes('\\\\')) return true;", 'void scanner;']],
    tests: [['test/unit/wire/passthrough/text-beside.test.ts', 'hide no text']],
  },
  {
    name: 'reasoning that a server sends twice counts twice',
    edits: [['wire/chat/observe.ts', 'if (this.#reasoningBytes === this.#reasoningMost) {', 'if (true) {']],
    tests: [['test/unit/wire/every-delta.test.ts', 'reasoning']],
  },
  {
    name: 'hostile JSON: a member given twice is accepted',
    edits: [
      [
        'wire/json/parse-request.ts',
        'if (membersIn(body) !== layout.membersInAll) throw',
        'if (Number.isNaN(membersIn(body))) throw',
      ],
    ],
    tests: [['test/gateway/bad-input.test.ts', 'a field given twice']],
  },
  {
    name: 'hostile JSON: a member is looked for twice at the top alone',
    edits: [
      [
        'wire/json/parse-request.ts',
        'if (membersIn(body) !== layout.membersInAll)',
        'void membersIn;\n  if (Object.keys(body).length !== layout.members.length)',
      ],
    ],
    tests: [['test/gateway/billing/cost-fields.test.ts', 'a second member of the same name hides nothing']],
  },
  {
    name: 'hostile JSON: __proto__ is accepted',
    edits: [['wire/json/parse-request.ts', "return name === '__proto__' || ", 'return ']],
    tests: [['test/gateway/bad-input.test.ts', '__proto__ at any depth']],
  },
  {
    name: 'a tool call’s arguments are not counted as output',
    edits: [
      ['wire/chat/observe.ts', " || scanner.keyIs('arguments');", ';'],
      ['wire/generated-text.ts', "'b64_json'", "'b64_json', 'arguments'"],
    ],
    tests: [['test/unit/wire/passthrough/stream.test.ts'], ['test/unit/wire/passthrough/frame-template.test.ts']],
  },
  {
    name: 'translation: a stream that was cut off is finished like a complete one',
    edits: [
      [
        'wire/translate/stream.ts',
        "if (this.#open) this.#fail(brokenStream('The provider ended the stream before the answer was complete.'));",
        "if (this.#open) this.#write({ type: 'end' });",
      ],
    ],
    tests: [['test/translate/stream.test.ts', 'cut off before its finish reason']],
  },
  {
    name: 'translation: a call that was cut off is complete',
    edits: [['wire/translate/cut-calls.ts', 'isCutJson(call.text) ? { ...event, incomplete: true } : event', 'event']],
    tests: [['test/translate/cut-calls.test.ts', '[R88]']],
  },
  {
    name: 'translation: a call that was cut off before its arguments is one without arguments',
    edits: [['wire/translate/cut-calls.ts', 'midway && end.key === this.#last', 'midway && end.key < 0']],
    tests: [['test/translate/cut-calls.test.ts', '[R88]']],
  },
  {
    name: 'context: a provider’s own words reach a Format B client',
    edits: [['exchange/context-exceeded.ts', "if (endpoint.envelope !== 'B') return said;", 'return said;']],
    tests: [['test/gateway/upstream/context-errors.test.ts', '[R36]']],
  },
  {
    name: 'metering: sound of a stream that is left is free',
    edits: [['wire/chat/observe.ts', 'this.output.countSound(scanner);', 'scanner.skip();']],
    tests: [ENCODED],
  },
  {
    name: 'metering: a frame of sound like the one before is free',
    edits: [
      [
        'wire/passthrough/observer.ts',
        'countSound({ valueStart, stringEnd, end }: MemberScanner): void {\n    this.#irregular = true;',
        'countSound({ valueStart, stringEnd, end }: MemberScanner): void {',
      ],
    ],
    tests: [ENCODED],
  },
  {
    name: 'metering: images of a stream that is left cost what text costs',
    edits: [['exchange/meter.ts', 'outputImage: encoded.image', 'outputImage: 0']],
    tests: [['test/gateway/billing/priced-fields.test.ts', 'when it leaves']],
  },
];
