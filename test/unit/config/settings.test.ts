import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readSettings, SettingError } from '../../../src/config/settings.ts';

describe('settings', () => {
  test('an empty environment gives the documented defaults', () => {
    assert.deepEqual(
      { ...readSettings({}) },
      {
        host: '127.0.0.1',
        port: 8080,
        adminHost: '127.0.0.1',
        adminPort: 8081,
        adminUrl: null,
        adminHosts: [],
        adminTls: null,
        adminSelfSigned: false,
        adminProxy: false,
        metricsToken: null,
        oidc: null,
        metricsPerKey: false,
        publicUrl: null,
        trustedProxies: [],
        proxyHeader: 'x-forwarded-for',
        corsOrigins: [],
        dataDir: './data',
        configFile: './gateway.yaml',
        configFileNamed: false,
        databaseUrl: null,
        databaseDirectUrl: null,
        installationSecret: null,
        leaseMs: 15_000,
        workers: 1,
        workersByFlag: false,
        tls: null,
        logLevel: 'info',
        allowExec: false,
        execRefreshMs: 300_000,
        discoverLocal: true,
        sandboxStrict: false,
      },
    );
  });

  test('every setting is read, and the result is frozen', () => {
    const settings = readSettings({
      GATEWAY_HOST: '::1',
      GATEWAY_PORT: '0',
      GATEWAY_ADMIN_HOST: 'Admin.internal',
      GATEWAY_ADMIN_PORT: '0',
      GATEWAY_ADMIN_ALLOWED_HOSTS: 'Console.example.com, gateway-0',
      GATEWAY_ADMIN_TLS_CERT: '/etc/admin.pem',
      GATEWAY_ADMIN_TLS_KEY: '/etc/admin.key',
      GATEWAY_ADMIN_PROXY: 'on',
      GATEWAY_ADMIN_TLS: 'self-signed',
      GATEWAY_ADMIN_URL: 'https://Operators.example.com/',
      GATEWAY_METRICS_TOKEN: 'm'.repeat(32),
      GATEWAY_OIDC_ISSUER: 'https://id.example.com/realm',
      GATEWAY_OIDC_CLIENT_ID: 'gateway',
      GATEWAY_OIDC_CLIENT_SECRET: 'of the client',
      GATEWAY_OIDC_REDIRECT: 'https://console.example.com/admin/v1/oidc/callback',
      GATEWAY_OIDC_SCOPE: 'openid groups',
      GATEWAY_OIDC_ROLE_CLAIM: 'groups',
      GATEWAY_METRICS_KEYS: 'on',
      GATEWAY_PUBLIC_URL: 'https://gateway.example.com/ai/',
      GATEWAY_TRUSTED_PROXIES: '10.1.2.3, loopback,2001:db8::/32',
      GATEWAY_PROXY_HEADER: 'forwarded',
      GATEWAY_CORS_ORIGINS: 'https://App.example.com, http://localhost:5173,app://chat',
      GATEWAY_DATA: '/var/lib/gateway',
      GATEWAY_CONFIG: '/etc/gateway.yaml',
      DATABASE_URL: 'postgresql://user:p%40ss@pooler:6432/gateway?pgbouncer=true',
      DATABASE_DIRECT_URL: 'postgresql://user:p%40ss@db,db-2:5433/gateway',
      GATEWAY_SECRET: 's'.repeat(32),
      GATEWAY_LEASE_SECONDS: '30',
      GATEWAY_WORKERS: '4',
      GATEWAY_TLS_CERT: '/etc/tls/cert.pem',
      GATEWAY_TLS_KEY: '/etc/tls/key.pem',
      GATEWAY_LOG: 'silent',
      GATEWAY_ALLOW_EXEC: 'on',
      GATEWAY_EXEC_SECONDS: '60',
      GATEWAY_DISCOVER_LOCAL: 'off',
      GATEWAY_SANDBOX: 'strict',
    });
    assert.deepEqual(
      { ...settings },
      {
        host: '::1',
        port: 0,
        adminHost: 'Admin.internal',
        adminPort: 0,
        adminUrl: 'https://operators.example.com',
        adminHosts: ['console.example.com', 'gateway-0', 'admin.internal', 'operators.example.com'],
        adminTls: { cert: '/etc/admin.pem', key: '/etc/admin.key' },
        adminSelfSigned: false,
        adminProxy: true,
        metricsToken: 'm'.repeat(32),
        oidc: {
          issuer: 'https://id.example.com/realm',
          clientId: 'gateway',
          clientSecret: 'of the client',
          redirect: 'https://console.example.com/admin/v1/oidc/callback',
          scope: 'openid groups',
          roleClaim: 'groups',
        },
        metricsPerKey: true,
        publicUrl: 'https://gateway.example.com/ai',
        trustedProxies: ['10.1.2.3/32', '127.0.0.0/8', '::1/128', '2001:db8::/32'],
        proxyHeader: 'forwarded',
        corsOrigins: ['https://app.example.com', 'http://localhost:5173', 'app://chat'],
        dataDir: '/var/lib/gateway',
        configFile: '/etc/gateway.yaml',
        configFileNamed: true,
        databaseUrl: 'postgresql://user:p%40ss@pooler:6432/gateway?pgbouncer=true',
        databaseDirectUrl: 'postgresql://user:p%40ss@db,db-2:5433/gateway',
        installationSecret: 's'.repeat(32),
        leaseMs: 30_000,
        workers: 4,
        workersByFlag: false,
        tls: { cert: '/etc/tls/cert.pem', key: '/etc/tls/key.pem' },
        logLevel: 'silent',
        allowExec: true,
        execRefreshMs: 60_000,
        discoverLocal: false,
        sandboxStrict: true,
      },
    );
    assert.ok(Object.isFrozen(settings));
  });

  test('an empty variable counts as unset', () => {
    const settings = readSettings({ GATEWAY_PORT: '', GATEWAY_CONFIG: '', DATABASE_URL: '' });
    assert.equal(settings.port, 8080);
    assert.equal(settings.configFileNamed, false);
    assert.equal(settings.databaseUrl, null);
  });

  test("the operator's listener makes a certificate only where it is given none and no proxy is in front", () => {
    const wanted = { GATEWAY_ADMIN_TLS: 'self-signed', GATEWAY_DATA: '/data' };
    const file = '/data/admin-tls.pem';
    assert.deepEqual(readSettings(wanted).adminTls, { cert: file, key: file });
    const behindProxy = readSettings({ ...wanted, GATEWAY_ADMIN_PROXY: 'on' });
    assert.deepEqual([behindProxy.adminTls, behindProxy.adminSelfSigned], [null, false]);
    const own = readSettings({ ...wanted, GATEWAY_ADMIN_TLS_CERT: 'c.pem', GATEWAY_ADMIN_TLS_KEY: 'k.pem' });
    assert.deepEqual([own.adminTls, own.adminSelfSigned], [{ cert: 'c.pem', key: 'k.pem' }, false]);
  });

  const wrong: readonly (readonly [Record<string, string>, string])[] = [
    [{ GATEWAY_PORT: '80 80' }, 'GATEWAY_PORT is "80 80": must be a whole number from 0 to 65535; 0 picks a free port'],
    [{ GATEWAY_PORT: '65536' }, 'GATEWAY_PORT is "65536": must be a whole number from 0 to 65535; 0 picks a free port'],
    [
      { GATEWAY_ADMIN_PORT: '-1' },
      'GATEWAY_ADMIN_PORT is "-1": must be a whole number from 0 to 65535; 0 picks a free port',
    ],
    [
      { GATEWAY_PORT: '9000', GATEWAY_ADMIN_PORT: '9000' },
      'GATEWAY_ADMIN_PORT is 9000, as is GATEWAY_PORT: the two must differ',
    ],
    [
      { GATEWAY_HOST: 'http://localhost' },
      'GATEWAY_HOST is "http://localhost": must be an IP address or a host name, without scheme or port (0.0.0.0 listens everywhere)',
    ],
    [
      { GATEWAY_HOST: '127.0.0.1:80' },
      'GATEWAY_HOST is "127.0.0.1:80": must be an IP address or a host name, without scheme or port (0.0.0.0 listens everywhere)',
    ],
    [
      { GATEWAY_HOST: '300.1.1.1' },
      'GATEWAY_HOST is "300.1.1.1": must be an IP address or a host name, without scheme or port (0.0.0.0 listens everywhere)',
    ],
    [
      { GATEWAY_ADMIN_HOST: 'a b' },
      'GATEWAY_ADMIN_HOST is "a b": must be an IP address or a host name, without scheme or port (0.0.0.0 listens everywhere)',
    ],
    ...['https://a.example', 'a.example:443', 'a.example,', '*'].map((text): [Record<string, string>, string] => [
      { GATEWAY_ADMIN_ALLOWED_HOSTS: text },
      `GATEWAY_ADMIN_ALLOWED_HOSTS has "${text.split(',')[1] ?? text}": must be host names without scheme or port, separated by commas (IP addresses are always allowed)`,
    ]),
    [{ GATEWAY_DATA: '  ' }, 'GATEWAY_DATA is "  ": must be a path'],
    [{ GATEWAY_CONFIG: 'a\0b' }, 'GATEWAY_CONFIG is "a\\u0000b": must be a path'],
    [
      { DATABASE_URL: 'mysql://root:hunter2@db/x' },
      'DATABASE_URL is not a PostgreSQL URL: must be postgres://… or postgresql://…, special characters percent-encoded',
    ],
    [
      { DATABASE_URL: 'postgres://user:hunter2@db:notaport/x' },
      'DATABASE_URL cannot be read as a URL: must be postgres://… or postgresql://…, special characters percent-encoded',
    ],
    ...['0', '601', '2.5', 'soon', ''].map((seconds): [Record<string, string>, string] => [
      { DATABASE_URL: `postgres://user:hunter2@db/x?connect_timeout=${seconds}` },
      'DATABASE_URL: connect_timeout must be a whole number of seconds from 1 to 600',
    ]),
    [
      { DATABASE_DIRECT_URL: 'postgres://db/gateway' },
      'DATABASE_DIRECT_URL is set without DATABASE_URL: it names the same database past a pooler',
    ],
    [
      { DATABASE_URL: 'postgres://db/gateway', DATABASE_DIRECT_URL: 'db:5432' },
      'DATABASE_DIRECT_URL is not a PostgreSQL URL: must be postgres://… or postgresql://…, special characters percent-encoded',
    ],
    [{ GATEWAY_SECRET: 'hunter2' }, 'GATEWAY_SECRET is too short: must have at least 32 characters'],
    [{ GATEWAY_METRICS_TOKEN: 'hunter2' }, 'GATEWAY_METRICS_TOKEN is too short: must have at least 32 characters'],
    [{ GATEWAY_WORKERS: '0' }, 'GATEWAY_WORKERS is "0": must be a whole number from 1 to 128'],
    [{ GATEWAY_LOG: 'trace' }, 'GATEWAY_LOG is "trace": expected one of debug, info, warn, error, silent'],
    ...['gateway.example.com', 'ftp://example.com', 'https://a:b@example.com', 'https://example.com/?a=1'].map(
      (url): [Record<string, string>, string] => [
        { GATEWAY_PUBLIC_URL: url },
        `GATEWAY_PUBLIC_URL is "${url}": must be an http or https address without credentials and query, e.g. https://gateway.example.com`,
      ],
    ),
    [{ GATEWAY_ADMIN_TLS: 'on' }, 'GATEWAY_ADMIN_TLS is "on": expected one of off, self-signed'],
    [
      { GATEWAY_ADMIN_URL: 'https://example.com/console' },
      'GATEWAY_ADMIN_URL is "https://example.com/console": must be an http or https address without a path, e.g. https://console.example.com',
    ],
    ...['10.0.0.0/99', 'proxy.internal', '10.0.0.1,'].map((text): [Record<string, string>, string] => [
      { GATEWAY_TRUSTED_PROXIES: text },
      `GATEWAY_TRUSTED_PROXIES has "${text.split(',')[1] ?? text}": must be IP addresses, ranges such as 10.0.0.0/8, loopback or private, separated by commas`,
    ]),
    [
      { GATEWAY_PROXY_HEADER: 'x-real-ip' },
      'GATEWAY_PROXY_HEADER is "x-real-ip": expected one of x-forwarded-for, forwarded',
    ],
    ...['https://a.example/', 'a.example', 'https://a.example:443', 'https://*.a.example/x', ''].map(
      (text): [Record<string, string>, string] => [
        { GATEWAY_CORS_ORIGINS: `https://b.example,${text}` },
        `GATEWAY_CORS_ORIGINS has "${text}": must be * or origins without a path and a default port, such as https://app.example.com, separated by commas`,
      ],
    ),
    [{ GATEWAY_TLS_KEY: 'key.pem' }, 'GATEWAY_TLS_CERT is missing: GATEWAY_TLS_KEY is set'],
    [{ GATEWAY_TLS_CERT: 'cert.pem' }, 'GATEWAY_TLS_KEY is missing: GATEWAY_TLS_CERT is set'],
    [{ GATEWAY_DISCOVER_LOCAL: 'no' }, 'GATEWAY_DISCOVER_LOCAL is "no": expected one of on, off'],
  ];
  for (const [env, message] of wrong) {
    test(`a wrong setting is one line: ${message}`, () => {
      assert.throws(
        () => readSettings(env),
        (error: unknown) =>
          error instanceof SettingError &&
          error.message === message &&
          !error.message.includes('\n') &&
          !error.message.includes('hunter2'),
      );
    });
  }
});
