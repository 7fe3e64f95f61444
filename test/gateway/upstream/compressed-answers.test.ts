/** Answers that a provider compresses although it was not asked to. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createDeflate,
  createGzip,
  createZstdCompress,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import { ask, assertUncharged, errorOf, scriptedGateway, settled, streamed } from '../../support/scripted-gateway.ts';
import { INPUT_TOKENS, OUTPUT_TOKENS, SPEECH } from '../../support/upstreams/spoken.ts';

const SENTENCE = 'compressed '.repeat(50);

describe('a compressed answer', () => {
  const whole = JSON.stringify(SPEECH.chat.whole(SENTENCE));
  const encodings: Readonly<Record<string, (text: string) => Buffer>> = {
    gzip: (text) => gzipSync(text),
    'x-gzip': (text) => gzipSync(text),
    deflate: (text) => deflateSync(text),
    'deflate (raw)': (text) => deflateRawSync(text),
    br: (text) => brotliCompressSync(text),
    zstd: (text) => zstdCompressSync(text),
  };

  for (const [name, encode] of Object.entries(encodings)) {
    test(`in ${name} is decoded and charged like a plain one`, async () => {
      await using scripted = await scriptedGateway();
      const key = await scripted.gateway.tokenKey();
      const answer = ask(key, 'chat');
      const call = await scripted.first.next();
      assert.equal(call.headers.get('accept-encoding'), 'identity', 'it was not asked for');
      const content = encode(whole).toString('latin1');
      call.raw(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: ${name.split(' ')[0]?.toUpperCase()}\r\n` +
          `content-length: ${content.length}\r\n\r\n`,
      );
      call.socket.write(content, 'latin1');
      const { status, text } = await answer;
      assert.equal(status, 200);
      assert.ok(text.includes(SENTENCE));
      assert.equal((await settled(scripted.gateway, key)).used, INPUT_TOKENS + OUTPUT_TOKENS);
    });
  }

  const streams = {
    gzip: () => createGzip(),
    deflate: () => createDeflate(),
    br: () => createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
    zstd: () => createZstdCompress(),
  } as const;
  for (const [name, create] of Object.entries(streams)) {
    test(`in ${name} streams: each event arrives when the provider flushes it`, async () => {
      await using scripted = await scriptedGateway();
      const key = await scripted.gateway.tokenKey();
      const client = streamed(key, 'chat');
      const call = await scripted.first.next();
      call.raw(
        `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: ${name}\r\ntransfer-encoding: chunked\r\n\r\n`,
      );
      const encoder = create();
      encoder.on('data', (bytes: Buffer) => call.chunk(bytes));
      const flushed = (text: string): Promise<void> =>
        new Promise((resolve) => {
          encoder.write(text);
          encoder.flush(() => resolve());
        });
      await flushed(SPEECH.chat.opening.join(''));
      for (const word of ['first', 'second', 'third']) {
        await flushed(SPEECH.chat.text(word));
        await client.until(new RegExp(word));
      }
      encoder.end(SPEECH.chat.closing.join(''));
      await once(encoder, 'end');
      call.finish();
      const { text } = await client.ended;
      assert.match(text, SPEECH.chat.terminal);
      assert.equal((await settled(scripted.gateway, key)).used, INPUT_TOKENS + OUTPUT_TOKENS);
    });
  }

  test('in an unknown encoding, a list of them, or not in the one that it names: 502, no charge', async () => {
    await using scripted = await scriptedGateway({ provider: { circuit_breaker: false } });
    const key = await scripted.gateway.tokenKey();
    for (const [encoding, content] of [
      ['compress', 'noise'],
      ['gzip, br', 'noise'],
      ['gzip', 'noise'],
      ['br', '\xff\xff\xff\xff'],
      ['zstd', 'noise'],
      ['gzip', gzipSync(whole).subarray(0, -20).toString('latin1')],
    ] as const) {
      const answer = ask(key, 'chat');
      const call = await scripted.first.next();
      call.raw(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: ${encoding}\r\ncontent-length: ${content.length}\r\n\r\n`,
      );
      call.socket.write(content, 'latin1');
      const { status, code } = errorOf(await answer);
      assert.deepEqual([status, code], [502, 'upstream_error'], encoding);
    }
    await assertUncharged(scripted.gateway, key);
  });

  test('with an error is read as one', async () => {
    await using scripted = await scriptedGateway();
    const key = await scripted.gateway.tokenKey();
    const answer = ask(key, 'chat');
    const call = await scripted.first.next();
    const content = gzipSync(JSON.stringify({ error: { message: 'no such setting' } })).toString('latin1');
    call.raw(
      `HTTP/1.1 400 Bad\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: ${content.length}\r\n\r\n`,
    );
    call.socket.write(content, 'latin1');
    const { status, message } = errorOf(await answer);
    assert.equal(status, 400);
    assert.match(message, /no such setting/);
  });

  test('that grows beyond the bound of a plain one is given up there, however small it was', async () => {
    await using scripted = await scriptedGateway({ provider: { circuit_breaker: false } });
    const key = await scripted.gateway.tokenKey();
    for (const [encoding, content] of [
      ['gzip', gzipSync(Buffer.alloc(256 * 1_024 * 1_024, 0x20))],
      [
        'br',
        brotliCompressSync(Buffer.alloc(256 * 1_024 * 1_024, 0x20), {
          params: { [constants.BROTLI_PARAM_QUALITY]: 1 },
        }),
      ],
    ] as const) {
      const answer = ask(key, 'chat');
      const call = await scripted.first.next();
      call.raw(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: ${encoding}\r\ncontent-length: ${content.length}\r\n\r\n`,
      );
      call.socket.write(content);
      const { status, message } = errorOf(await answer);
      assert.equal(status, 502);
      assert.match(message, /too large/);
    }
    await assertUncharged(scripted.gateway, key);
  });
});
