/** Which of several servers is taken. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sqlState } from '../../../../src/storage/postgres/error-mapping.ts';
import { onFirstServer, type Server } from '../../../../src/storage/postgres/servers.ts';

/** Each test has URLs of its own: which server served last is remembered by them. */
function attempts(url: string, serves: (place: string) => boolean, addresses: Record<string, readonly string[]> = {}) {
  const tried: string[] = [];
  const connect = async ({ url: own, address }: Server): Promise<string> => {
    const place = `${new URL(own).searchParams.get('host')}${address === null ? '' : `=${address}`}`;
    tried.push(place);
    if (serves(place)) return place;
    throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  };
  const lookup = async (host: string): Promise<readonly string[]> => {
    const found = addresses[host];
    if (found === undefined) throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' });
    return found;
  };
  return { tried, run: () => onFirstServer(url, connect, lookup) };
}

describe('[F52] several servers', () => {
  test('are tried in their order, and the one that served last comes first from then on', async () => {
    let primary = '10.0.0.2';
    const { tried, run } = attempts('postgres:///a?host=10.0.0.1,10.0.0.2,10.0.0.3', (place) => place === primary);
    assert.equal(await run(), '10.0.0.2');
    assert.equal(await run(), '10.0.0.2');
    primary = '10.0.0.3';
    assert.equal(await run(), '10.0.0.3');
    assert.deepEqual(tried, ['10.0.0.1', '10.0.0.2', '10.0.0.2', '10.0.0.2', '10.0.0.1', '10.0.0.3']);
  });

  test('are also the addresses of one name, which is looked up anew each time', async () => {
    const addresses = { db: ['10.0.0.1', '10.0.0.2'] };
    let primary = 'db=10.0.0.2';
    const { tried, run } = attempts('postgres:///b?host=db', (place) => place === primary, addresses);
    assert.equal(await run(), 'db=10.0.0.2');
    // The name leads elsewhere: what served last no longer counts.
    addresses.db = ['10.0.0.3', '10.0.0.1'];
    primary = 'db=10.0.0.1';
    assert.equal(await run(), 'db=10.0.0.1');
    assert.deepEqual(tried, ['db=10.0.0.1', 'db=10.0.0.2', 'db=10.0.0.3', 'db=10.0.0.1']);
  });

  test('a name that is unknown does not keep the next host from being tried', async () => {
    const { run } = attempts('postgres:///c?host=gone,10.0.0.2', (place) => place === '10.0.0.2');
    assert.equal(await run(), '10.0.0.2');
  });

  test('none of them: one error that says what each did, with the code of one that answered', async () => {
    const connect = async ({ url }: Server): Promise<never> => {
      const code = url.includes('10.0.0.1') ? 'ECONNREFUSED' : '57P03';
      throw Object.assign(new Error(code === '57P03' ? 'the database system is starting up' : 'refused'), { code });
    };
    await assert.rejects(onFirstServer('postgres:///d?host=10.0.0.1,10.0.0.2', connect), (error: Error) => {
      assert.equal(error.message, '10.0.0.1:5432: refused; 10.0.0.2:5432: the database system is starting up');
      assert.equal(sqlState(error), '57P03');
      return true;
    });
    const { run } = attempts('postgres:///e?host=10.0.0.9', () => false);
    await assert.rejects(run(), { message: 'connect ECONNREFUSED', code: 'ECONNREFUSED' });
  });
});
