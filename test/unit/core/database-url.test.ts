import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Client } from 'pg';
import { databaseAddress } from '../../../src/core/database-url.ts';

/** What the driver makes of it: host, port, user, password and database. */
function asDriven(url: string): readonly unknown[] {
  return databaseAddress(url).hosts.map((host) => {
    const { host: name, port, user, password, database } = new Client(host.url);
    return [name, port, user, password, database];
  });
}

const names = (url: string): readonly string[] => databaseAddress(url).hosts.map(({ name }) => name);

describe('DATABASE_URL', () => {
  test('one server: as ever', () => {
    const url = 'postgresql://us%40er:p%2Fw@db.example:6432/gate%20way?sslmode=disable';
    assert.deepEqual(asDriven(url), [['db.example', 6432, 'us@er', 'p/w', 'gate way']]);
    const { wanted, pooled, connectTimeoutMs, shown } = databaseAddress(url);
    assert.deepEqual([wanted, pooled, connectTimeoutMs], ['read-write', false, 5_000]);
    assert.equal(shown, 'db.example:6432/gate%20way');
  });

  test('[F52] several servers, in front of the path or as lists, in their order', () => {
    assert.deepEqual(asDriven('postgres://u:p@h1:5431,h2,[2001:db8::1]:5433/db?target_session_attrs=primary'), [
      ['h1', 5431, 'u', 'p', 'db'],
      ['h2', 5432, 'u', 'p', 'db'],
      ['2001:db8::1', 5433, 'u', 'p', 'db'],
    ]);
    assert.deepEqual(names('postgres://u@/db?host=h1,h2&port=5431,5432'), ['h1:5431', 'h2:5432']);
    assert.deepEqual(names('postgres:///db?host=h1,/var/run/postgresql&port=5431'), [
      'h1:5431',
      '/var/run/postgresql:5431',
    ]);
    assert.deepEqual(names('postgres://h1,h2/db?port=6432'), ['h1:6432', 'h2:6432']);
    assert.deepEqual(names('postgres://[::1]/db'), ['[::1]:5432']);
    assert.deepEqual(names('postgres://%2Ftmp/db'), ['/tmp:5432']);
    assert.equal(databaseAddress('postgres://u:p@h1,h2:1/db').shown, 'h1:5432,h2:1/db');
  });

  test('what the gateway sets itself, and what a pooler refuses, is not sent', () => {
    const drives = (url: string): URLSearchParams =>
      new URL(databaseAddress(url).hosts[0]?.url.replace('@/', '@h/') ?? '').searchParams;
    const plain = drives('postgres://u@h/db?statement_timeout=1&options=-c%20geqo%3Doff&sslrootcert=/a%20b.pem');
    assert.deepEqual(
      [...plain.keys()].toSorted((a, b) => a.localeCompare(b)),
      ['host', 'options', 'sslrootcert'],
    );
    assert.equal(plain.get('sslrootcert'), '/a b.pem');
    assert.deepEqual([...drives('postgres://u@h/db?pgbouncer=true&options=-c%20geqo%3Doff').keys()], ['host']);
  });

  const refused: readonly (readonly [url: string, message: RegExp])[] = [
    ['mysql://u:hunter2@h/db', /^ is not a PostgreSQL URL: /],
    ['postgres://u:hunter2@h:port/db', /^ cannot be read as a URL: /],
    ['postgres://u:hunter2@h:65536/db', /^ cannot be read as a URL: /],
    ['postgres://u:hunter2@h1,,h2/db', /^ cannot be read as a URL: /],
    ['postgres://u:hunter%zz@h/db', /^ cannot be read as a URL: /],
    ['postgres://u:hunter2#@h/db', /^ cannot be read as a URL: /],
    ['postgres://u:hunter2@h1,h2,h3/db?port=1,2', /^: port must have one number, or as many as there are hosts$/],
    [
      'postgres://u:hunter2@h/db?target_session_attrs=standby',
      /^: target_session_attrs must be read-write, primary or any/,
    ],
    ['postgres://u:hunter2@h/db?target_session_attrs=prefer-standby', /^: target_session_attrs must be /],
    ['postgres://u:hunter2@h/db?pgbouncer=yes', /^: pgbouncer must be true .* or false/],
    ['postgres://u:hunter2@h/db?connect_timeout=0', /^: connect_timeout must be /],
  ];
  for (const [url, message] of refused) {
    test(`${url} is refused, without its password`, () => {
      assert.throws(
        () => databaseAddress(url),
        (error: Error) => {
          assert.match(error.message, message);
          assert.doesNotMatch(error.message, /hunter/);
          return true;
        },
      );
    });
  }
});
