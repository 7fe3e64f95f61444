import type { Mutant } from './list.ts';

const REFUSALS = 'test/unit/transport/server/refusals.test.ts';
const REFUSED = 'test/gateway/refused-requests.test.ts';
const ERRORS = 'test/gateway/errors.test.ts';
const HEALTH = 'test/unit/http/health.test.ts';
const PIPELINING = 'test/unit/transport/server/pipelining.test.ts';
const CONNECTIONS = 'test/unit/transport/server/connections.test.ts';
const HTTP2_ABUSE = 'test/unit/transport/server/http2-abuse.test.ts';
const HANGING = 'test/unit/alerts/hanging.test.ts';
const ADDRESSES = 'test/unit/transport/server/addresses.test.ts';
const READINESS = 'test/unit/process/readiness.test.ts';

export const HTTP_MUTANTS: readonly Mutant[] = [
  {
    name: 'header strictness: both framing headers are accepted',
    edits: [['transport/server/request-head.ts', 'if (length !== null || http10 ||', 'if (http10 ||']],
    tests: [[REFUSALS, 'Content-Length before Transfer-Encoding']],
  },
  {
    name: 'header strictness: a repeated framing header is accepted',
    edits: [
      [
        'transport/server/request-head.ts',
        "if (before !== null) throw malformed('repeated framing header');",
        'void before;',
      ],
    ],
    tests: [[REFUSALS, 'two lengths that agree']],
  },
  {
    name: 'header strictness: two Host headers are accepted',
    edits: [['transport/server/request-head.ts', "if (hosts > 1) throw malformed('repeated Host header');", '']],
    tests: [[REFUSALS, 'two hosts']],
  },
  {
    name: 'header strictness: a request without Host is accepted',
    edits: [
      [
        'transport/server/request-head.ts',
        "if (hosts === 0 && !http10) throw new Http1Error('no_host', 'missing Host header');",
        '',
      ],
    ],
    tests: [[REFUSALS, 'and a missing host']],
  },
  {
    name: 'header strictness: Transfer-Encoding in HTTP/1.0 is accepted',
    edits: [['transport/server/request-head.ts', 'length !== null || http10 || coding', 'length !== null || coding']],
    tests: [[REFUSALS, 'chunked in HTTP/1.0']],
  },
  {
    name: 'header strictness: a framing field in a trailer is accepted',
    edits: [['transport/trailer.ts', '/^(?:content-length|transfer-encoding|connection', '/^(?:connection']],
    tests: [[REFUSALS, 'Content-Length in a trailer']],
  },
  {
    name: 'more headers than the limit are accepted',
    edits: [['transport/server/request-head.ts', 'if (count > countMax) throw', 'if (count < 0) throw']],
    tests: [['test/unit/transport/server/limits.test.ts', 'is bounded in bytes and in fields']],
  },
  {
    name: 'connections beyond the limit are served',
    edits: [
      ['transport/server/connection-limit.ts', 'if (served < this.#max) return null;', 'if (served >= 0) return null;'],
    ],
    tests: [['test/unit/transport/server/limits.test.ts', 'beyond the limit are answered with the reason']],
  },
  {
    name: 'a body in chunks may be of any size',
    edits: [['http/body.ts', 'piece.length > this.#limitBytes) this', 'piece.length < 0) this']],
    tests: [[REFUSED, 'a body over the limit is a 413']],
  },
  {
    name: 'a body that is not announced as JSON is accepted',
    edits: [['http/body.ts', 'if (type === null || !', "if (type === '' && !"]],
    tests: [[REFUSED, 'a body that is not sent as JSON is a 400']],
  },
  {
    name: 'drain: requests on open connections are served on',
    edits: [['http/app.ts', 'if (!options.accepting() && path', 'if (path === null && path']],
    tests: [[HEALTH]],
  },
  {
    name: 'drain: answers do not announce the end of their connection',
    edits: [
      [
        'transport/server/http1-connection.ts',
        'this.#keeps = framed && canFinish && this.#owner.persistent &&',
        'this.#keeps = framed && canFinish &&',
      ],
    ],
    tests: [['test/unit/transport/server/connections.test.ts', 'closes idle connections, answers the last requests']],
  },
  {
    name: 'readiness: the store is not read',
    edits: [
      ['process/readiness.ts', 'return this.#readable && this.#options.serving();', 'return this.#options.serving();'],
    ],
    tests: [[READINESS]],
  },
  {
    name: 'readiness: a store that does not answer is waited for',
    edits: [['process/readiness.ts', 'setTimeout(() => resolve(false), this', 'setTimeout(() => {}, this']],
    tests: [[READINESS, 'is not waited for without end']],
  },
  {
    name: 'readiness: a gateway that drains is ready',
    edits: [
      ['process/serve.ts', 'serving: () => !stopping && maintenance.healthy', 'serving: () => maintenance.healthy'],
    ],
    tests: [['test/gateway/readiness.test.ts']],
  },
  {
    name: 'liveness depends on the store',
    edits: [
      [
        'http/app.ts',
        "add(method, LIVENESS, (request, response) => plainReply(request, response).json({ status: 'ok' }));",
        "add(method, LIVENESS, (request, response) => {\n    void options.ready().then((ready) => (ready ? plainReply(request, response).json({ status: 'ok' }) : plainReply(request, response).error(new GatewayError('service_unavailable'))));\n  });",
      ],
    ],
    tests: [[HEALTH]],
  },
  {
    name: 'Retry-After is not sent',
    edits: [['http/reply.ts', "...(failure.retryAfterS === null ? [] : ['retry-after', failure.retryAfterS]),", '']],
    tests: [[ERRORS, '[R29]']],
  },
  {
    name: 'clients are not told that a retry is useless',
    edits: [['http/reply.ts', "...(failure.mayRetry ? [] : ['x-should-retry', 'false']),", '']],
    tests: [[ERRORS, '[R33]']],
  },
  {
    name: 'Format B answers lack their request-id',
    edits: [['http/reply.ts', "if (this.#envelope === 'B') headers.push('request-id', this.requestId);", '']],
    tests: [[REFUSED, 'Format B routes name it as request-id too']],
  },
  {
    name: 'an endpoint sends statuses that its list does not have',
    edits: [
      [
        'core/failure.ts',
        '(endpoint === null || lists(endpoint, error.condition))',
        '(endpoint === null || lists !== undefined)',
      ],
    ],
    tests: [
      [ERRORS, 'no endpoint tells a status that its list does not have', 'only what cannot happen at an endpoint'],
    ],
  },
  {
    name: 'the rate headers are missing',
    edits: [
      [
        'http/reply.ts',
        "headers.push('x-ratelimit-limit-requests', rate.limit, 'x-ratelimit-remaining-requests', rate.remaining);",
        '',
      ],
    ],
    tests: [['test/gateway/rate.test.ts', '[R12]']],
  },
  {
    name: 'pipelining: what was read together is parsed to its end',
    edits: [['lib/stop-parsing.ts', 'parser.onIncoming = stop;\n  parser.pause?.();', 'void [parser, stop];']],
    tests: [[PIPELINING, 'is not parsed any further']],
  },
  {
    name: 'bodies: tiny chunks are taken without a bound',
    edits: [['lib/piece-tally.ts', 'return this.pieces > this.#anySize && ', 'return this.pieces < 0 && ']],
    tests: [['test/unit/transport/server/small-pieces.test.ts', 'are refused, whether or not']],
  },
  {
    name: 'pipelining: requests wait without a bound',
    edits: [
      [
        'transport/server/http1-connection.ts',
        "else if (this.#waiting.length === WAITING_MAX) this.#fault = 'too_many_waiting';",
        '',
      ],
    ],
    tests: [[PIPELINING, 'answers those that it has accepted, then the reason, and closes']],
  },
  {
    name: 'silence: a connection that has sent nothing is refused',
    edits: [
      [
        'transport/server/http1-connection.ts',
        'if (this.socket.bytesRead === 0) this.#close(NOTHING);\n      else ',
        '',
      ],
    ],
    tests: [[CONNECTIONS, '[R87] to say anything is closed without a byte']],
  },
  {
    name: 'HTTP/2: a response that is not taken is waited for without end',
    edits: [['transport/server/http2-session.ts', 'giveUp(open.stream);', '']],
    tests: [[HTTP2_ABUSE, 'takes one of its responses and not the other']],
  },
  {
    name: 'HTTP/2: a client that takes nothing keeps its connection',
    edits: [
      [
        'transport/server/http2-session.ts',
        'if (untaken === this.#streams.size && round - this.#closedAtRound > requestRoundsMax) this.#socket.destroy();',
        'void untaken;',
      ],
    ],
    tests: [[HTTP2_ABUSE, 'never opens its window']],
  },
  {
    name: 'alerts: what is noticed waits for receivers',
    edits: [
      [
        'alerts/alerts.ts',
        'this.#deliver();\n      this.#looking = this.watch()',
        'this.#looking = this.deliver().then(() => this.watch())',
      ],
    ],
    tests: [[HANGING, 'holds up neither what is noticed nor the alerts of others']],
  },
  {
    name: 'alerts: an account takes more than its share of deliveries',
    edits: [['alerts/deliverer.ts', 'const OF_AN_ACCOUNT_AT_ONCE = 2;', 'const OF_AN_ACCOUNT_AT_ONCE = 64;']],
    tests: [[HANGING, 'takes the share of one account with all that are below it']],
  },
  {
    name: 'alerts: a mail server that hangs takes every place',
    edits: [['alerts/deliverer.ts', 'isMailed(parsed) ? [MAIL] : []', '[]']],
    tests: [['test/unit/alerts/mail.test.ts', 'holds up mail alone, however much of it waits']],
  },
  {
    name: 'alerts: gateways of 0.2 give up what they cannot deliver',
    edits: [['alerts/sql-store.ts', "OF_ANY_VERSION.test(target) ? 'pending' : 'queued'", "'pending'"]],
    tests: [['test/contract/alerts.test.ts', 'are left alone by these']],
  },
  {
    name: 'connections: idle ones make no room for others',
    edits: [
      ['transport/server/http-server.ts', 'if (this.#limit.isNear(this.#accepted.size)) this.#makeRoom(address);', ''],
    ],
    tests: [[ADDRESSES, 'a flood of silent connections from one address']],
  },
  {
    name: 'connections: those that come at the same moment close each other',
    edits: [['transport/server/http-server.ts', 'if (isOfBurst && !', 'if (false && !']],
    tests: [[ADDRESSES, 'clients of one address that connect at the same moment']],
  },
  {
    name: 'connections: one with a request is closed for another',
    edits: [
      [
        'transport/server/http1-connection.ts',
        'return idle ? this.#endedAtRound : null;',
        'return this.#endedAtRound;',
      ],
    ],
    tests: [[ADDRESSES, 'those with a request are left alone']],
  },
  {
    name: 'connections: those of a proxy count for one client',
    edits: [['transport/server/http-server.ts', "peer === '' || this.#isProxy(peer)", "peer === ''"]],
    tests: [[ADDRESSES, 'those of a trusted proxy are left alone']],
  },
];
