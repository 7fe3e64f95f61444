/** What a package of a provider lets its users send and read: every name that the gateway must have a decision about. */
import { join } from 'node:path';
import { alternatives, DeclarationFile, literalsOf, membersOf, type Place } from './declarations.ts';

export const KINDS = ['field', 'tool', 'block', 'event', 'usage'] as const;
export type Kind = (typeof KINDS)[number];

export interface Entry {
  /** The format, or the API where it is none that the gateway speaks. */
  readonly api: string;
  readonly kind: Kind;
  /** A path of member names for fields and usage, a `type` for the others. */
  readonly name: string;
}

interface Root {
  readonly file: string;
  /** Members: paths of a type's members. Types: the values of `type` among its alternatives. */
  readonly read: 'members' | 'types';
  readonly type: string;
}

interface Surface {
  readonly package: string;
  readonly api: string;
  /** How deep the members of fields and usage are looked at; 3 by default. What is deeper belongs to one setting. */
  readonly depth?: number;
  readonly roots: Readonly<Partial<Record<Kind, readonly Root[]>>>;
}

const CHAT = 'resources/chat/completions/completions.d.ts';
const RESPONSES = 'resources/responses/responses.d.ts';
const BETA_RESPONSES = 'resources/beta/responses/responses.d.ts';
const MESSAGES = 'resources/messages/messages.d.ts';
const BETA_MESSAGES = 'resources/beta/messages/messages.d.ts';
const GENAI = 'dist/genai.d.ts';

const SURFACES: readonly Surface[] = [
  {
    package: 'openai',
    api: 'chat',
    roots: {
      field: [members(CHAT, 'ChatCompletionCreateParamsBase')],
      tool: [types(CHAT, 'ChatCompletionTool')],
      block: [types(CHAT, 'ChatCompletionContentPart'), members(CHAT, 'ChatCompletionMessageParam')],
      event: [members(CHAT, 'ChatCompletionChunk.Choice.Delta'), members(CHAT, 'ChatCompletionMessage')],
      usage: [members('resources/completions.d.ts', 'CompletionUsage')],
    },
  },
  {
    package: 'openai',
    api: 'responses',
    roots: {
      field: [
        members(RESPONSES, 'ResponseCreateParamsBase'),
        members(BETA_RESPONSES, 'ResponseCreateParamsBase'),
        members(RESPONSES, 'ResponsesClientEvent.ResponseCreate'),
      ],
      tool: [types(RESPONSES, 'Tool'), types(BETA_RESPONSES, 'BetaTool')],
      block: [
        types(RESPONSES, 'ResponseInputItem'),
        types(RESPONSES, 'ResponseOutputItem'),
        types(RESPONSES, 'ResponseInputContent'),
        types(RESPONSES, 'ResponseContent'),
        types(BETA_RESPONSES, 'BetaResponseInputItem'),
        types(BETA_RESPONSES, 'BetaResponseOutputItem'),
      ],
      event: [
        types(RESPONSES, 'ResponseStreamEvent'),
        types(BETA_RESPONSES, 'BetaResponseStreamEvent'),
        types(RESPONSES, 'ResponsesClientEvent'),
        types(RESPONSES, 'ResponsesServerEvent'),
      ],
      usage: [members(RESPONSES, 'ResponseUsage'), members(BETA_RESPONSES, 'BetaResponseUsage')],
    },
  },
  {
    package: '@anthropic-ai/sdk',
    api: 'messages',
    roots: {
      field: [members(MESSAGES, 'MessageCreateParamsBase'), members(BETA_MESSAGES, 'MessageCreateParamsBase')],
      tool: [types(MESSAGES, 'ToolUnion'), types(BETA_MESSAGES, 'BetaToolUnion')],
      block: [
        types(MESSAGES, 'ContentBlockParam'),
        types(MESSAGES, 'ContentBlock'),
        types(BETA_MESSAGES, 'BetaContentBlockParam'),
        types(BETA_MESSAGES, 'BetaContentBlock'),
      ],
      event: [
        types(MESSAGES, 'RawMessageStreamEvent'),
        types(MESSAGES, 'RawContentBlockDelta'),
        types(BETA_MESSAGES, 'BetaRawMessageStreamEvent'),
        types(BETA_MESSAGES, 'BetaRawContentBlockDelta'),
      ],
      usage: [
        members(MESSAGES, 'Usage'),
        members(MESSAGES, 'MessageDeltaUsage'),
        members(BETA_MESSAGES, 'BetaUsage'),
        members(BETA_MESSAGES, 'BetaMessageDeltaUsage'),
      ],
    },
  },
  {
    package: '@google/genai',
    api: 'gemini',
    // The gateway speaks to Gemini through `@ai-sdk/google`, which writes and reads these fields itself.
    depth: 1,
    roots: {
      field: [members(GENAI, 'GenerateContentConfig')],
      tool: [members(GENAI, 'Tool')],
      block: [members(GENAI, 'Part')],
      event: [members(GENAI, 'GenerateContentResponse'), members(GENAI, 'Candidate')],
      usage: [members(GENAI, 'GenerateContentResponseUsageMetadata')],
    },
  },
];

export const PACKAGES: readonly string[] = [...new Set(SURFACES.map((surface) => surface.package))];

/** `folder`: that of the package. */
export function surfaceOf(name: string, folder: string): Entry[] {
  const files = new Map<string, DeclarationFile>();
  return SURFACES.filter((surface) => surface.package === name).flatMap(({ api, depth = 3, roots }) =>
    KINDS.flatMap((kind) => {
      const names = (roots[kind] ?? []).flatMap(({ file, read, type }) => {
        const place = DeclarationFile.open(join(folder, file), files).named(type);
        return read === 'types' ? typesOf(place) : pathsOf(place, kind === 'field' || kind === 'usage' ? depth : 1);
      });
      return [...new Set(names)].map((one) => ({ api, kind, name: one }));
    }),
  );
}

function members(file: string, type: string): Root {
  return { file, read: 'members', type };
}

function types(file: string, type: string): Root {
  return { file, read: 'types', type };
}

function typesOf(place: Place): string[] {
  return alternatives(place).flatMap((one) =>
    membersOf(one).flatMap(({ name, value }) => (name === 'type' ? literalsOf(value) : [])),
  );
}

/** Members that have kinds of their own: tools and blocks; and schemas that users write. */
const OWN_KIND = new Set(['input', 'messages', 'system', 'tools', 'functions', 'instructions', 'schema', 'type']);

function pathsOf(place: Place, depth: number): string[] {
  return membersOf(place).flatMap(({ name, value }) => {
    if (depth === 1 || OWN_KIND.has(name)) return [name];
    return [name, ...pathsOf(value, depth - 1).map((inner) => `${name}.${inner}`)];
  });
}
