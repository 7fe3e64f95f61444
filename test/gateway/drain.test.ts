/** A drain waits for whatever is being served or not yet settled, in whatever state it is, within its bounds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../src/core/conditions.ts';
import { InFlight, type InFlightExchange } from '../../src/exchange/in-flight.ts';
import { readBody } from '../../src/http/body.ts';
import type { IncomingRequest } from '../../src/transport/server.ts';
import { pending } from '../support/pending.ts';
import { RawPeer, serverFixture } from '../unit/transport/server/fixture.ts';

const LONG_MS = 3_600_000;

function live(): InFlight {
  return new InFlight({ mark: () => {} });
}

interface Watched extends InFlightExchange {
  readonly stopped: Promise<void>;
}

function exchange(onStop: () => void = () => {}): Watched {
  const { promise, resolve } = Promise.withResolvers<void>();
  return {
    deadlineMs: Number.POSITIVE_INFINITY,
    expire: () => {},
    ended: false,
    progress: () => null,
    running: () => assert.fail('nobody asks'),
    stop: () => {
      resolve();
      onStop();
    },
    stopped: promise,
  };
}

test('[F9] a drain waits for a request that has not been admitted yet, and for its exchange after it', async () => {
  const exchanges = live();
  exchanges.requestStarted();
  const drained = exchanges.drain(LONG_MS, LONG_MS);
  assert.equal(await pending(drained), true);
  const late = exchange();
  const place = exchanges.add(late, LONG_MS);
  exchanges.requestEnded();
  assert.equal(await pending(drained), true, 'the reply was written, but the charge is not durable');
  exchanges.remove(place);
  await drained;
});

test('[F9] at the deadline what runs is stopped, and so is what is admitted only then', async () => {
  const exchanges = live();
  const first = exchange();
  const firstPlace = exchanges.add(first, LONG_MS);
  const drained = exchanges.drain(0, LONG_MS);
  await first.stopped;
  const second = exchange();
  const secondPlace = exchanges.add(second, LONG_MS);
  await second.stopped;
  exchanges.remove(firstPlace);
  assert.equal(await pending(drained), true);
  exchanges.remove(secondPlace);
  await drained;
});

test('[F9] after the deadline nothing is waited for that holds nothing, nor a store that never answers', async () => {
  const uploading = live();
  uploading.requestStarted();
  await uploading.drain(0, LONG_MS);
  const unsettled = live();
  unsettled.add(exchange(), LONG_MS);
  await unsettled.drain(0, 0);
});

test('the body of a client that has gone before it was read is not waited for', async () => {
  const arrived = Promise.withResolvers<IncomingRequest>();
  const gone = Promise.withResolvers<void>();
  await using end = await serverFixture((request, response) => {
    response.onClose(gone.resolve);
    arrived.resolve(request);
  });
  const client = await RawPeer.connect(end.port);
  client.send('POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{');
  const request = await arrived.promise;
  client.socket.destroy();
  await gone.promise;
  assert.ok((await readBody(request, 1_000)) instanceof GatewayError);
});
