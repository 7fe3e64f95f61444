import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  connectionsWarning,
  connectionsWithin,
  fileLimitWarning,
  parseFileLimit,
  readFileLimit,
} from '../../../src/config/file-limit.ts';

function limits(soft: string): string {
  return [
    'Limit                     Soft Limit           Hard Limit           Units     ',
    'Max processes             62987                62987                processes ',
    `Max open files            ${soft.padEnd(20)} 524288               files     `,
    'Max locked memory         unlimited            unlimited            bytes     ',
    '',
  ].join('\n');
}

describe('the limit of open files', () => {
  test('is the soft one that Linux tells', () => {
    assert.equal(parseFileLimit(limits('1024')), 1_024);
    assert.equal(parseFileLimit(limits('1048576')), 1_048_576);
    assert.equal(parseFileLimit(limits('unlimited')), Number.POSITIVE_INFINITY);
  });

  test('is unknown where the system does not tell', () => {
    assert.equal(parseFileLimit(''), null);
    assert.equal(parseFileLimit('Max processes 1 1 processes\n'), null);
    assert.equal(readFileLimit('/nowhere/limits'), null);
  });

  test('is told in one line, with how many streams it allows, when it is low', () => {
    const line = fileLimitWarning(1_024) ?? '';
    assert.match(line, /may open 1024 files, enough for about 448 streams at once: raise the limit \(ulimit -n 65536/);
    assert.equal(line.split('\n').length, 1);
    assert.match(fileLimitWarning(10) ?? '', /about 1 streams/);
  });

  test('[F32] leaves a file for the call of every connection', () => {
    assert.deepEqual(
      [1_024, 65_536, 10, Number.POSITIVE_INFINITY, null].map((limit) => connectionsWithin(limit)),
      [448, 32_704, 1, Number.POSITIVE_INFINITY, 8_160],
    );
    assert.equal(connectionsWarning(448, 1_024), null);
    assert.equal(
      connectionsWarning(449, 1_024),
      'limits.connections is 449, but the limit of open files (1024) leaves 448: beyond that, connections or calls to providers can fail',
    );
  });

  test('is not spoken of when it is high enough or unknown', () => {
    for (const limit of [4_096, 1_048_576, Number.POSITIVE_INFINITY, null]) assert.equal(fileLimitWarning(limit), null);
  });
});
