/** Streams of long conversations, as coding agents have them: many at once, each for minutes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MeasuredGateway } from '../../support/measured-gateway.ts';
import { ClientStream } from '../../support/scripted-gateway.ts';
import type { ScriptedCall } from '../../support/upstreams/scripted.ts';
import { SPEECH } from '../../support/upstreams/spoken.ts';

const CLIENTS = 12;
const CONTEXT_BYTES = 1_000_000;
/** Of all streams together: less than the context of two of them. */
const KEPT_BYTES_MAX = 2 * CONTEXT_BYTES;

for (const [format, provided, how] of [
  ['chat', 'chat', 'passed through'],
  ['responses', 'responses', 'passed through'],
  ['messages', 'chat', 'translated'],
] as const) {
  test(`[F31] streams of ${format} that are ${how} keep nothing of their requests once they have begun`, async () => {
    await using gateway = await MeasuredGateway.start(provided);
    const key = await gateway.key();
    const request = (content: string): object =>
      SPEECH[format].request({
        stream: true,
        ...(format === 'responses'
          ? { max_output_tokens: 100, store: false, input: content }
          : { max_tokens: 100, messages: [{ role: 'user', content }] }),
      });
    const calls: ScriptedCall[] = [];
    const begin = async (content: string): Promise<ClientStream> => {
      const client = new ClientStream(key, format, request(content)).read();
      const call = await gateway.provider.next();
      calls.push(call);
      call.streamHead({ connection: 'close' });
      call.chunk(SPEECH[provided].opening.join('') + SPEECH[provided].text('Hi'));
      await client.begun;
      return client;
    };
    // Whatever the first ones make the gateway load.
    const clients = [await begin('x'), await begin('x'.repeat(CONTEXT_BYTES))];
    const before = await gateway.measure();
    for (let index = 0; index < CLIENTS; index++) clients.push(await begin('x'.repeat(CONTEXT_BYTES)));
    await gateway.measureWhen(({ heapBytes }) => heapBytes - before.heapBytes < KEPT_BYTES_MAX);
    for (const call of calls) {
      for (const frame of SPEECH[provided].closing) call.chunk(frame);
      call.finish();
    }
    for (const client of clients) assert.match((await client.ended).text, SPEECH[format].terminal);
    const audit = await gateway.admin.audit();
    assert.deepEqual(audit.findings, []);
    assert.equal(audit.live_holds, 0);
  });
}
