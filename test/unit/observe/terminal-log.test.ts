import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openLog } from '../../../src/observe/log.ts';
import { terminalLine } from '../../../src/observe/terminal-log.ts';

describe('the log at a terminal', () => {
  test('has a time, the message, and its fields; an error with its stack', () => {
    const lines: string[] = [];
    const log = openLog('info', { write: (line) => lines.push(terminalLine(line)) });
    log.info({ origin: 'http://127.0.0.1:8080', models: 3, asked: [{ a: 1 }] }, 'the gateway listens');
    log.warn({ reason: 'two words' }, 'something to look at');
    log.error({ err: new Error('broken') }, 'it failed');
    log.access({ requestId: 'req_1', status: 200 });
    const [info = '', warning = '', error = '', access = ''] = lines.map((line) =>
      line.replace(/^\d\d:\d\d:\d\d /, ''),
    );
    assert.equal(info, 'the gateway listens origin=http://127.0.0.1:8080 models=3 asked=[{"a":1}]\n');
    assert.equal(warning, 'warning: something to look at reason="two words"\n');
    assert.match(error, /^error: it failed\n {2}Error: broken\n {6}at /);
    assert.equal(access, 'request requestId=req_1 status=200\n');
  });
});
