/** Who is told of alerts, as the config file says it. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ConfigError } from '../../../src/config/problem.ts';
import { fileInForce } from '../../../src/config/settings-view.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { configFolder } from './config-fixture.ts';

async function loadAlerts(text: string, env: Record<string, string> = {}) {
  const folder = await configFolder();
  await folder.write(text);
  return folder.load({ env });
}

async function problemsOf(text: string): Promise<string> {
  try {
    await loadAlerts(text);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems.map((line) => line.replace(/^.*gateway\.yaml[:\d]*: /, '')).join('\n');
  }
  return '';
}

const SMTP = 'smtp: { host: mail.example.com, from: gateway@example.com }';

describe('the section alerts', () => {
  test('has every kind of receiver; what is left out is as documented', async () => {
    const passwordFile = join(temporaryFolder(), 'password');
    writeFileSync(passwordFile, 'from a file\n');
    const config = await loadAlerts(
      `alerts:
  slack: [{ name: chat, url: "\${SLACK_URL}", types: [circuit.open] }]
  email: [{ name: on-call, to: ops@example.com }]
  smtp: { host: mail.example.com, user: gateway, password: "\${SMTP_PASSWORD}", from: gateway@example.com }
  levels: [75, 90]
  credits_left: [2.5]
  tokens_left: [100000]
`,
      { SLACK_URL: 'https://hooks.slack.com/services/T/B/secret-path', SMTP_PASSWORD_FILE: passwordFile },
    );
    const { alerts } = config;
    assert.deepEqual(alerts?.slack, [
      { name: 'chat', url: 'https://hooks.slack.com/services/T/B/secret-path', types: ['circuit.open'] },
    ]);
    assert.deepEqual(alerts?.email, [{ name: 'on-call', to: 'ops@example.com', types: null }]);
    assert.deepEqual(alerts?.smtp, {
      host: 'mail.example.com',
      port: 587,
      tls: 'starttls',
      login: { user: 'gateway', password: 'from a file' },
      from: 'gateway@example.com',
    });
    assert.deepEqual([alerts?.levels, alerts?.creditsLeft, alerts?.tokensLeft], [[75, 90], [2.5], [100_000]]);
    const shown = JSON.stringify(fileInForce(config));
    assert.doesNotMatch(shown, /secret-path|from a file/);
    assert.match(
      shown,
      /\(hooks\.slack\.com\).*smtp\.password","value":"set","from":"file".*credits_left","value":\[2.5\]/,
    );
    const empty = (await loadAlerts('alerts: {}')).alerts;
    assert.deepEqual(
      [empty?.levels, empty?.creditsLeft, empty?.tokensLeft, empty?.smtp, empty?.allowPrivate],
      [[50, 80, 95, 100], [], [], null, false],
    );
    const ports = ['implicit', 'off'].map(
      async (tls) =>
        (await loadAlerts(`alerts: { allow_private: true, smtp: { host: m, tls: ${tls}, from: a@b.c } }`)).alerts?.smtp
          ?.port,
    );
    assert.deepEqual(await Promise.all(ports), [465, 25]);
  });

  const chat = (url: string, more = ''): string => `alerts: { slack: [{ name: chat, url: "${url}" }]${more} }`;
  for (const [what, text, problem] of [
    ['a level above 100', 'alerts: { levels: [101] }', /alerts\.levels\[0\].*100/],
    ['a level of 0', 'alerts: { levels: [0] }', /alerts\.levels\[0\].*1/],
    ['a level that is no integer', 'alerts: { levels: [12.5] }', /alerts\.levels\[0\]/],
    ['a level twice', 'alerts: { levels: [80, 80] }', /alerts\.levels/],
    ['21 levels', `alerts: { levels: [${Array.from({ length: 21 }, (_, i) => i + 1)}] }`, /alerts\.levels.*20/],
    ['an amount of nothing', 'alerts: { credits_left: [0] }', /alerts\.credits_left\[0\]/],
    ['a part of a token', 'alerts: { tokens_left: [0.5] }', /alerts\.tokens_left\[0\]/],
    ['http without leave', chat('http://chat.internal/x'), /slack\[0\]\.url.*http needs alerts\.allow_private: true/],
    ['an address with credentials', chat('https://a:b@chat.example/x'), /slack\[0\]\.url.*https address/],
    ['another scheme', chat('ftp://chat.example/x'), /slack\[0\]\.url.*https address/],
    [
      'a name twice',
      'alerts: { slack: [{ name: a, url: "https://a.example" }, { name: a, url: "https://b.example" }] }',
      /slack\[1\]\.name.*`a` is the name of another one of alerts\.slack already/,
    ],
    [
      'a mailbox twice',
      `alerts: { ${SMTP}, email: [{ name: a, to: Ops@example.com }, { name: b, to: ops@example.com }] }`,
      /email\[1\].*leads to the same place as one before it/,
    ],
    ['mail without a server', 'alerts: { email: [{ name: a, to: a@b.c }] }', /alerts\.email.*needs alerts\.smtp/],
    [
      'two mailboxes in one',
      `alerts: { ${SMTP}, email: [{ name: a, to: "a@b.c, d@e.f" }] }`,
      /email\[0\]\.to.*one e-mail/,
    ],
    [
      'a header in an address',
      `alerts: { ${SMTP}, email: [{ name: a, to: "a@b.c\\r\\nBcc: d@e.f" }] }`,
      /email\[0\]\.to/,
    ],
    ['a name of the sender', 'alerts: { smtp: { host: m, from: "Gateway <a@b.c>" } }', /smtp\.from.*one e-mail/],
    [
      'a user alone',
      'alerts: { smtp: { host: m, from: a@b.c, user: u } }',
      /smtp\.user.*and password are given together/,
    ],
    [
      'a password in the clear',
      'alerts: { allow_private: true, smtp: { host: m, from: a@b.c, tls: off, user: u, password: p } }',
      /smtp\.password.*never sent in the clear/,
    ],
    [
      'mail in the clear without leave',
      'alerts: { smtp: { host: m, from: a@b.c, tls: off } }',
      /smtp\.tls.*allow_private/,
    ],
    ['an unknown way of TLS', 'alerts: { smtp: { host: m, from: a@b.c, tls: maybe } }', /smtp\.tls/],
    ['a host that is none', 'alerts: { smtp: { host: "m x", from: a@b.c } }', /smtp\.host/],
  ] as const) {
    test(`refuses ${what}, and says where`, async () => {
      assert.match(await problemsOf(text), problem);
    });
  }
});
