/** Settings in depth: stop sequences, log probabilities, seeds and sampling, several answers, schemas of the answer. */
import { type Conversation, plainRequests, plainWith, TOKENS } from './conversation.ts';

const stopped = { finish: 'stop', tokens: TOKENS } as const;

const stopSequences: Conversation = {
  name: 'stop-sequences',
  requests: plainWith({
    chat: { stop: ['END', '###'] },
    messages: { stop_sequences: ['END', '###'] },
    responses: {},
  }),
  answer: { blocks: [{ kind: 'text', pieces: ['One. ', 'E', 'ND Two.'] }], stopSequence: 'END', ...stopped },
  variants: [
    { what: 'one sequence', requests: plainWith({ chat: { stop: 'END' }, messages: { stop_sequences: ['END'] } }) },
    { what: 'none', requests: plainWith({ chat: { stop: [] }, messages: { stop_sequences: [] } }) },
    {
      what: 'one of white space only',
      requests: plainWith({ chat: { stop: ['\n\n', 'END'] }, messages: { stop_sequences: ['\n\n', 'END'] } }),
    },
    {
      what: 'more than four',
      requests: plainWith({ messages: { stop_sequences: ['a', 'b', 'c', 'd', 'e'] } }),
    },
  ],
};

const logprobs: Conversation = {
  name: 'logprobs',
  requests: plainWith({
    chat: { logprobs: true, top_logprobs: 1 },
    responses: { include: ['message.output_text.logprobs'], top_logprobs: 1 },
  }),
  answer: { blocks: [{ kind: 'text', pieces: ['Yes', ' 👍', '.'], logprobs: true }], ...stopped },
  variants: [
    {
      what: 'no log probabilities',
      requests: plainWith({ chat: { logprobs: false }, responses: { top_logprobs: 0 } }),
    },
  ],
};

const sampling: Conversation = {
  name: 'seeds-and-sampling',
  requests: plainWith({
    chat: {
      seed: 42,
      temperature: 0.2,
      top_p: 0.9,
      frequency_penalty: 0.5,
      presence_penalty: -0.5,
      logit_bias: { '50256': -100 },
      user: 'user-1',
      metadata: { a: 'b' },
    },
    responses: { temperature: 0.2, top_p: 0.9, user: 'user-1', metadata: { a: 'b' } },
    messages: { temperature: 0.2, top_p: 0.9, top_k: 40, metadata: { user_id: 'user-1' } },
  }),
  answer: { blocks: [{ kind: 'text', pieces: ['Always the same.'] }], ...stopped },
  variants: [
    {
      what: 'temperature over 1',
      requests: plainWith({ chat: { temperature: 1.7 }, responses: { temperature: 1.7 } }),
    },
    {
      what: 'the defaults, said',
      requests: plainWith({
        chat: { temperature: 1, top_p: 1, n: 1, frequency_penalty: 0, presence_penalty: 0, seed: 0 },
        responses: { temperature: 1, top_p: 1 },
        messages: { temperature: 1, top_p: 1 },
      }),
    },
    {
      what: 'top_p alone',
      requests: plainWith({ chat: { top_p: 0.5 }, responses: { top_p: 0.5 }, messages: { top_p: 0.5 } }),
    },
    {
      what: 'a long user id',
      requests: plainWith({
        chat: { safety_identifier: 'u'.repeat(80) },
        responses: { user: 'u'.repeat(80) },
        messages: { metadata: { user_id: 'u'.repeat(80) } },
      }),
    },
  ],
};

const severalAnswers: Conversation = {
  name: 'several-answers',
  requests: plainRequests,
  answer: { blocks: [{ kind: 'text', pieces: ['The first ', 'answer.'] }], moreChoices: 1, ...stopped },
  variants: [
    { what: 'n of 2', requests: plainWith({ chat: { n: 2 } }) },
    { what: 'n of 1', requests: plainWith({ chat: { n: 1 } }) },
  ],
};

/** What the one or the other family of providers does not take in a schema that it enforces. */
const PERSON = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: { tag: { type: 'string', pattern: '^[a-z]+$', maxLength: 12 } },
  properties: {
    name: { type: 'string', description: 'As in the passport.', minLength: 1, maxLength: 80 },
    mail: { type: 'string', format: 'email' },
    phone: { type: 'string', format: 'phone' },
    age: { type: 'integer', minimum: 0, exclusiveMaximum: 150, multipleOf: 1 },
    tags: { type: 'array', items: { $ref: '#/$defs/tag' }, minItems: 2, maxItems: 5, uniqueItems: true },
    nickname: { type: ['string', 'null'], default: null },
    kind: { enum: ['a', 'b'] },
    contact: { oneOf: [{ type: 'string' }, { type: 'object', properties: { id: { type: 'number' } } }] },
    extra: { type: 'object', additionalProperties: { type: 'string' } },
    never: { not: { type: 'string' } },
  },
  required: ['name', 'age'],
  patternProperties: { '^x-': { type: 'string' } },
};
const STRICT = {
  type: 'object',
  properties: { city: { type: 'string' }, degrees: { type: 'number' } },
  required: ['city', 'degrees'],
  additionalProperties: false,
};

function shaped(schema: object, strict: boolean) {
  const plain = JSON.parse(JSON.stringify(schema));
  return plainWith({
    chat: { response_format: { type: 'json_schema', json_schema: { name: 'person', strict, schema: plain } } },
    responses: { text: { format: { type: 'json_schema', name: 'person', strict, schema: plain } } },
    messages: { output_config: { format: { type: 'json_schema', schema: plain } } },
  });
}

function offering(schema: object, strict: boolean) {
  const plain = JSON.parse(JSON.stringify(schema));
  return plainWith({
    chat: { tools: [{ type: 'function', function: { name: 'save', parameters: plain, strict } }] },
    responses: { tools: [{ type: 'function', name: 'save', parameters: plain, strict }] },
    messages: { tools: [{ name: 'save', input_schema: plain, strict }] },
  });
}

const jsonSchema: Conversation = {
  name: 'json-schema',
  requests: shaped(PERSON, false),
  answer: { blocks: [{ kind: 'text', pieces: ['{"name":"Ann",', '"age":3}'] }], ...stopped },
  variants: [
    { what: 'a strict schema', requests: shaped(STRICT, true) },
    { what: 'a schema that is not strict, asked for as strict', requests: shaped(PERSON, true) },
    { what: 'a tool with such a schema', requests: offering(PERSON, false) },
    { what: 'a strict tool', requests: offering(STRICT, true) },
    { what: 'a strict tool whose schema is not', requests: offering(PERSON, true) },
    {
      what: 'JSON of any shape',
      requests: plainWith({
        chat: { response_format: { type: 'json_object' } },
        responses: { text: { format: { type: 'json_object' } } },
      }),
    },
  ],
};

export const SETTINGS: readonly Conversation[] = [stopSequences, logprobs, sampling, severalAnswers, jsonSchema];
