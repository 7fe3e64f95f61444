import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openingError } from '../../../../src/storage/postgres/error-mapping.ts';

const URL = 'postgres://gateway:secret@db/gateway';
const failure = (message: string, code: string): Error => Object.assign(new Error(message), { code });

for (const [what, message, code, advice] of [
  ['a socket that is not there', 'connect ENOENT /run/pg/.s.PGSQL.5432', 'ENOENT', /no such socket: correct the host/],
  ['a certificate that is not there', "ENOENT: no such file or directory, open '/ca.pem'", 'ENOENT', /sslrootcert/],
  ['a port where nobody listens', 'connect ECONNREFUSED 127.0.0.1:5432', 'ECONNREFUSED', /start PostgreSQL/],
  ['a wrong password', 'password authentication failed', '28P01', /correct user and password/],
] as const) {
  test(`${what} at the start: one line with what to do, without the password`, () => {
    const { message: line } = openingError(URL, failure(message, code));
    assert.match(line, advice);
    assert.ok(!line.includes('secret') && !line.includes('\n'), line);
  });
}
