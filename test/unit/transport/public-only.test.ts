import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PLAIN_NETWORK } from '../../../src/core/provider.ts';
import { Connector } from '../../../src/transport/client/connector.ts';
import { recordingUpstream } from '../../support/upstreams/recording.ts';

function connectTo(publicOnly: boolean, port: string): Promise<Error | null> {
  const { connect } = new Connector({ ...PLAIN_NETWORK, publicOnly }, 10_000);
  return new Promise((resolve) =>
    connect({ hostname: 'localhost', protocol: 'http:', port }, (error, socket) => {
      socket?.destroy();
      resolve(error);
    }),
  );
}

test('a name that leads to this machine is not connected to where only public addresses are allowed', async () => {
  await using upstream = await recordingUpstream();
  const { port } = new URL(upstream.url);
  const refused = await connectTo(true, port);
  assert.match(refused?.message ?? '', /^localhost leads to (127\.0\.0\.1|::1), which is not a public address$/);
  assert.equal(await connectTo(false, port), null);
});
