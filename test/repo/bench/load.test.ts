import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { after, before, describe, test } from 'node:test';
import type { Job } from '../../../bench/load.ts';
import { LoadClient } from '../../../bench/load-client.ts';
import type { Placement } from '../../../bench/processes.ts';

const ANYWHERE: Placement = { pinned: false, note: '', prefix: () => [], fileLimit: 1024 };

describe('the load generator', () => {
  let load: LoadClient;
  let server: Server;
  let origin = '';
  before(async () => {
    load = new LoadClient(ANYWHERE);
    // The path says how many frames arrive, and whether the end does.
    server = createServer((request, response) => {
      const [, frames, end] = (request.url ?? '').split('/');
      request.resume();
      response.setHeader('content-type', 'text/event-stream');
      for (let i = 0; i < Number(frames); i++) response.write(`data: ~${i}\n\n`);
      if (end === 'hang') return;
      response.end(end === 'done' ? 'data: [DONE]\n\n' : '');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    assert.ok(address !== null && typeof address === 'object');
    origin = `http://127.0.0.1:${address.port}`;
  });
  after(async () => {
    await load.stop();
    server.closeAllConnections();
    server.close();
  });

  const job = (path: string, more: Partial<Job> = {}): Job => ({
    origin,
    path,
    headerSets: [{ 'x-caller': 'a' }, { 'x-caller': 'b' }],
    body: '{}',
    concurrency: 2,
    requests: 6,
    marks: 5,
    terminal: '[DONE]',
    cutAfterMarks: null,
    idempotencyPrefix: null,
    ...more,
  });

  test('counts every frame of complete streams, by caller', async () => {
    const result = await load.run(job('/5/done'));
    assert.equal(result.completed, 6);
    assert.equal(result.failed, 0);
    assert.equal(result.marks, 30);
    assert.equal(result.marksExpected, 30);
    assert.equal((result.completedBySet[0] ?? 0) + (result.completedBySet[1] ?? 0), 6);
  });

  test('a lost frame or a lost end is a failure', async () => {
    const short = await load.run(job('/4/done'));
    assert.equal(short.failed, 6);
    assert.match(short.failures[0] ?? '', /4 of 5 frames arrived/);
    const open = await load.run(job('/5/end'));
    assert.equal(open.failed, 6);
    assert.match(open.failures[0] ?? '', /ended without \[DONE\]/);
  });

  test('cuts every second stream where it is told to', async () => {
    const result = await load.run(job('/3/hang', { requests: 2, cutAfterMarks: 3, marks: 3, concurrency: 1 }), () => {
      // The first stream hangs for ever; only its client's end can end it.
      server.closeAllConnections();
    });
    assert.equal(result.cut, 1);
    assert.equal(result.failed, 1);
  });
});
