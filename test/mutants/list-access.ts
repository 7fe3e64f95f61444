import type { Mutant } from './list.ts';

const ACCOUNT_ADMIN = 'test/unit/admin/account-admin.test.ts';
const SESSIONS = 'test/unit/admin/sessions.test.ts';

export const ACCESS_MUTANTS: readonly Mutant[] = [
  {
    name: 'access: a session outlives the token that it was made with',
    edits: [['operators/sql-store.ts', 'm.id = c.made_with AND m.ended_at_ms IS NULL', 'm.id = c.made_with']],
    tests: [[SESSIONS], ['test/contract/operators.test.ts']],
  },
  {
    name: 'access: whether a route is the API’s is decided by how its path is written',
    edits: [['admin/http/console.ts', 'is404 ? url : (routeOptions.url ?? url)', 'routeOptions.url === "" ? "" : url']],
    tests: [[SESSIONS]],
  },
  {
    name: 'access: an account-admin loosens what an operator has set on a key',
    edits: [['admin/accounts/subtree.ts', 'await this.#bounds.requireKept(keyId, change);', '']],
    tests: [[ACCOUNT_ADMIN]],
  },
  {
    name: 'access: what a path names is not looked up in the subtree of an account-admin',
    edits: [
      [
        'admin/http/route.ts',
        'if (accountAdmin !== undefined) await admin.requireReach(accountAdmin, Object(request.params));',
        '',
      ],
    ],
    tests: [[ACCOUNT_ADMIN]],
  },
  {
    name: 'access: a move leads out of what an operator has suspended',
    edits: [['admin/accounts/subtree.ts', 'if (kept.has(accountId) ||', 'if (accountId !== "" ||']],
    tests: [[ACCOUNT_ADMIN]],
  },
  {
    name: 'access: webhooks of accounts reach private networks with the operator’s own',
    edits: [
      ['alerts/sender.ts', 'this.#way(policy, policy.accountsAllowPrivate)', 'this.#way(policy, policy.allowPrivate)'],
    ],
    tests: [['test/unit/alerts/delivery.test.ts']],
  },
  {
    name: 'access: receivers on the internet are called without TLS',
    edits: [['alerts/address.ts', 'inTheClear ? all.find(isPublic) : undefined', 'undefined']],
    tests: [['test/unit/alerts/slack.test.ts']],
  },
  {
    name: 'access: mail leaves in the clear where a server offers no TLS',
    edits: [['alerts/mailer.ts', "requireTLS: tls === 'starttls'", 'requireTLS: false']],
    tests: [['test/unit/alerts/mail.test.ts']],
  },
  {
    name: 'access: the holder of an account has mail sent to whom it likes',
    edits: [['admin/alerts/service.ts', '!isOperator) {', 'alerts.policy === null) {']],
    tests: [['test/unit/alerts/receivers.test.ts']],
  },
  {
    name: 'access: a cookie of the key holder’s page works after the sign-out',
    edits: [['keyholder/app.ts', '!(await ended.has(session.id).catch(storeFailed))', 'session.id !== ""']],
    tests: [['test/gateway/account-page.test.ts']],
  },
];
