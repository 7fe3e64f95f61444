/** Texts at their limits: empty, very long, and cut where no reader would cut them. */
import { type Conversation, TOKENS } from './conversation.ts';

const LONG = 'All work and no play. '.repeat(10_000);

const emptyTexts: Conversation = {
  name: 'empty-texts',
  requests: {
    chat: {
      model: 'public/model',
      messages: [
        { role: 'system', content: '' },
        {
          role: 'user',
          content: [
            { type: 'text', text: '' },
            { type: 'text', text: 'Hi' },
          ],
        },
        { role: 'assistant', content: '' },
        { role: 'user', content: '' },
        { role: 'user', content: 'Still there?' },
      ],
    },
    responses: {
      model: 'public/model',
      instructions: '',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: '' },
            { type: 'input_text', text: 'Hi' },
          ],
        },
        { role: 'assistant', content: [{ type: 'output_text', text: '', annotations: [] }] },
        { role: 'user', content: '' },
        { role: 'user', content: 'Still there?' },
      ],
    },
    messages: {
      model: 'public/model',
      max_tokens: 1024,
      system: '',
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
        { role: 'assistant', content: [] },
        { role: 'user', content: 'Still there?' },
      ],
    },
  },
  answer: { blocks: [{ kind: 'text', pieces: [''] }], finish: 'stop', tokens: { ...TOKENS, output: 0 } },
  variants: [
    {
      what: 'nothing at all',
      requests: {
        chat: { model: 'public/model', messages: [{ role: 'user', content: '' }] },
        responses: { model: 'public/model', input: '' },
        messages: { model: 'public/model', max_tokens: 10, messages: [{ role: 'user', content: '' }] },
      },
    },
    {
      what: 'a system prompt only',
      requests: {
        chat: { model: 'public/model', messages: [{ role: 'system', content: 'Be brief.' }] },
        responses: { model: 'public/model', instructions: 'Be brief.', input: [] },
      },
    },
  ],
};

const longTexts: Conversation = {
  name: 'long-texts',
  requests: {
    chat: {
      model: 'public/model',
      messages: [
        { role: 'system', content: LONG },
        { role: 'user', content: LONG },
      ],
    },
    responses: { model: 'public/model', instructions: LONG, input: LONG },
    messages: { model: 'public/model', max_tokens: 1024, system: LONG, messages: [{ role: 'user', content: LONG }] },
  },
  answer: { blocks: [{ kind: 'text', pieces: [LONG, LONG, '.'] }], finish: 'stop', tokens: TOKENS },
};

/** A family of four is seven code points and eleven UTF-16 units; a provider's tokens end anywhere in it. */
const FAMILY = '👨‍👩‍👧‍👦';
const FLAG = '🇳🇴';

const emoji: Conversation = {
  name: 'emoji-split',
  requests: {
    chat: { model: 'public/model', messages: [{ role: 'user', content: `Wave 👋🏽 to ${FAMILY}` }], stop: ['🛑'] },
    responses: { model: 'public/model', input: `Wave 👋🏽 to ${FAMILY}` },
    messages: {
      model: 'public/model',
      max_tokens: 1024,
      messages: [{ role: 'user', content: `Wave 👋🏽 to ${FAMILY}` }],
      stop_sequences: ['🛑'],
    },
  },
  answer: {
    blocks: [
      { kind: 'thinking', pieces: ['Hm ', FLAG.slice(0, 1), FLAG.slice(1, 3), FLAG.slice(3)], signature: 'signed-1' },
      { kind: 'text', pieces: ['Hi ', ...FAMILY.split(''), ' é', 'é 漢', '字'] },
      { kind: 'tool', id: 'call_1', name: 'wave', pieces: ['{"to":"', FAMILY.slice(0, 1), `${FAMILY.slice(1)}"}`] },
    ],
    finish: 'tool',
    tokens: TOKENS,
  },
  byteByByte: true,
};

export const TEXTS: readonly Conversation[] = [emptyTexts, longTexts, emoji];
