/** What a part brings beside its text is found by what it holds, in every format and whatever its type is called. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../../src/core/conditions.ts';
import { readPrompt } from '../../../src/counting/prompt-text.ts';
import type { RequestInfo } from '../../../src/wire/format.ts';
import { asObject, type FormatName, infoOf } from './streams.ts';

const FORMATS: readonly FormatName[] = ['chat', 'responses', 'messages'];
const URL = 'https://example.com/x';

function bodyOf(format: FormatName, part: object): object {
  const messages = [{ role: 'user', content: [part] }];
  return format === 'responses' ? { model: 'm', input: messages } : { model: 'm', messages };
}

function needsOf(format: FormatName, part: object): string {
  const { needs, attachments }: RequestInfo = infoOf(format, bodyOf(format, part));
  const { images, files } = readPrompt(asObject(bodyOf(format, part)));
  assert.equal(images + files, attachments.count, `${format}: ${JSON.stringify(part)} is counted as it is tallied`);
  return Object.keys(needs).toSorted().join(' ');
}

/** Parts with a type: the messages format takes no others. */
const FILES: readonly object[] = [
  { type: 'video_url', video_url: { url: URL } },
  { type: 'audio_url', audio_url: { url: URL } },
  { type: 'document_url', document_url: URL },
  { type: 'input_video', video_url: URL },
  { type: 'video', source: { type: 'url', url: URL } },
  { type: 'video', video: [URL, URL] },
  { type: 'video', content: { url: URL } },
  { type: 'media', mimeType: 'video/mp4', fileUri: 'gs://bucket/x' },
  { type: 'new', new: 'something that nobody here knows' },
  { type: 'text', text: 'Look', video_url: { url: URL } },
  { type: 'tool_result', tool_use_id: 't', content: 'Look', source: { type: 'url', url: URL } },
  { type: 'web_search_result', url: URL, video_url: URL },
  { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
  { type: 'document', source: { type: 'url', url: URL } },
];
const IMAGES: readonly object[] = [
  { type: 'image_url', image_url: { url: URL } },
  { type: 'input_image', image_url: URL },
  { type: 'image', source: { type: 'url', url: URL } },
  { type: 'image', image: URL },
  { type: 'text', text: 'Look', image_url: { url: URL } },
  { type: 'new', image_url: URL },
];
const TEXTS: readonly object[] = [
  { type: 'text', text: URL, cache_control: { type: 'ephemeral' }, citations: [{ url: URL, file_id: 'f' }] },
  { type: 'output_text', text: 'x', annotations: [{ type: 'url_citation', url: URL }], logprobs: [] },
  { type: 'thinking', thinking: 'x', signature: 's' },
  { type: 'redacted_thinking', data: 'AAAA' },
  { type: 'search_result', source: URL, title: 'x', content: [{ type: 'text', text: 'x' }] },
  { type: 'tool_use', id: 't', name: 'f', input: { url: URL, source: { file_id: 'f' } } },
  {
    type: 'web_search_tool_result',
    tool_use_id: 't',
    content: [{ type: 'web_search_result', url: URL, title: 'x', encrypted_content: 'AAAA', page_age: '1 day' }],
  },
  {
    type: 'bash_code_execution_tool_result',
    tool_use_id: 't',
    content: { type: 'bash_code_execution_result', content: [{ type: 'bash_code_execution_output', file_id: 'f' }] },
  },
  { type: 'new', text: 'x', content: [{ type: 'newer', text: 'x' }] },
  { type: 'text', text: 'x', image_url: null, files: [] },
];

describe('[R60] what a part brings', () => {
  for (const format of FORMATS) {
    test(`${format}: is a file unless it is known to be text or an image`, () => {
      for (const part of FILES) assert.equal(needsOf(format, part), 'files', JSON.stringify(part));
    });

    test(`${format}: is an image, wherever there is one`, () => {
      for (const part of IMAGES) assert.equal(needsOf(format, part), 'images', JSON.stringify(part));
    });

    test(`${format}: is nothing where all of it is text in the body`, () => {
      for (const part of TEXTS) assert.equal(needsOf(format, part), '', JSON.stringify(part));
    });

    test(`${format}: is all of that`, () => {
      const part = { type: 'image', source: { type: 'url', url: URL }, image_url: URL, video_url: URL };
      assert.equal(needsOf(format, part), 'files images');
      assert.equal(infoOf(format, bodyOf(format, part)).attachments.count, 2);
      const sound = { type: 'input_audio', input_audio: { data: 'AAAA' }, video_url: URL };
      assert.equal(readPrompt(asObject(bodyOf(format, sound))).fileTokensMax, null);
    });

    test(`${format}: takes no text where it is inline`, () => {
      const inline = { type: 'video_url', video_url: { url: `data:video/mp4;base64,${'A'.repeat(1_000)}` } };
      assert.equal(infoOf(format, bodyOf(format, inline)).attachments.inlineBytes, 1_022);
    });

    test(`${format}: is not what is stored at the provider`, () => {
      for (const [part, param] of [
        [{ type: 'new', file_id: 'f' }, 'file_id'],
        [{ type: 'video', source: { type: 'file', file_id: 'f' } }, 'source.file_id'],
      ] as const) {
        const at = `${format === 'responses' ? 'input' : 'messages'}[0].content[0].${param}`;
        assert.throws(
          () => infoOf(format, bodyOf(format, part)),
          (error) => error instanceof GatewayError && error.param === at,
        );
      }
    });
  }

  test('also without a type', () => {
    for (const format of ['chat', 'responses'] as const) {
      assert.equal(needsOf(format, { image_url: { url: URL } }), 'images');
      assert.equal(needsOf(format, { video_url: { url: URL } }), 'files');
      assert.equal(needsOf(format, { text: 'x' }), '');
    }
  });

  test('also beside the messages of a responses request, and in what a tool has returned', () => {
    const bare = [{ type: 'input_video', video_url: URL }];
    assert.equal(infoOf('responses', { model: 'm', input: bare }).needs.files, 'input[0]');
    const output = [{ stdout: 'x', stderr: '', outcome: { type: 'exit', exit_code: 0 } }];
    const shell = [{ type: 'shell_call_output', call_id: 'c', output }];
    assert.deepEqual(infoOf('responses', { model: 'm', input: shell }).needs, {});
  });

  test('chat: sound of an earlier answer is kept at the provider', () => {
    const messages = [
      { role: 'user', content: 'x' },
      { role: 'assistant', audio: { id: 'audio_1' } },
    ];
    assert.throws(
      () => infoOf('chat', { model: 'm', messages }),
      (error) => error instanceof GatewayError && error.param === 'messages[1].audio.id',
    );
    assert.deepEqual(infoOf('chat', { model: 'm', messages: [{ role: 'assistant', audio: null }] }).needs, {});
  });
});
