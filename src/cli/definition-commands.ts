/** The commands about providers, models and prices that operators define beside the config file. */
import type { AnswerOf } from '../admin/client.ts';
import type { DefinitionView } from '../admin/definitions/schema.ts';
import { isObject } from '../lib/json.ts';
import { table } from '../lib/text-table.ts';
import { type CommandArguments, UsageError, versionGiven } from './arguments.ts';
import { type Command, command } from './command.ts';
import { contentOf } from './money-commands.ts';
import { flagsOf, numberOr, type Setting, settingsIn } from './settings.ts';

const PROVIDER_SETTINGS: readonly Setting[] = [
  { flag: 'kind', value: 'openai|azure|anthropic', field: 'kind' },
  { flag: 'base-url', value: 'URL', field: 'base_url' },
  { flag: 'api-key', value: 'REFERENCE', field: 'api_key' },
  { flag: 'api-key-file', value: 'FILE|-', field: 'api_key', read: (path) => textOf(path).trim() },
  { flag: 'markup', value: 'N|none', field: 'markup', read: numberOr('none') },
];

const PRICES = ['input', 'output', 'cache-read', 'cache-write', 'cache-write-1h'] as const;
const PRICE_FLAGS = Object.fromEntries(PRICES.map((name) => [name, 'USD']));

const MODEL_SETTINGS: readonly Setting[] = [
  { flag: 'provider', value: 'NAME', field: 'provider' },
  { flag: 'display-name', value: 'TEXT', field: 'display_name' },
  { flag: 'context-window', value: 'TOKENS|none', field: 'context_window', read: numberOr('none') },
  { flag: 'max-output', value: 'TOKENS|none', field: 'max_output_tokens', read: numberOr('none') },
  { flag: 'markup', value: 'N|none', field: 'markup', read: numberOr('none') },
  { flag: 'public', value: 'yes|no', field: 'public', read: (text) => text === 'yes' },
];

const DEFINITION = { definition: 'FILE|-' };
const IF_VERSION = { 'if-version': 'N' };
const PROVIDER_FLAGS = { ...flagsOf(PROVIDER_SETTINGS), ...DEFINITION };
const MODEL_FLAGS = { ...flagsOf(MODEL_SETTINGS), 'upstream-model': 'NAME', ...PRICE_FLAGS, ...DEFINITION };

export const DEFINITION_COMMANDS: readonly Command[] = [
  command({
    words: ['definitions'],
    examples: ['definitions'],
    summary:
      'list the providers and models that operators have defined beside the config file, and whether they are in use',
    ask: async (api) => (await api.call('definitions', {})).data,
    print: (definitions) =>
      definitions.length === 0
        ? ['Nothing is defined beside the config file.']
        : table([
            ['KIND', 'NAME', 'STATE', 'VERSION', 'CHANGED', 'BY', 'WHY'],
            ...definitions.map(({ kind, name, state, version, changed_at, changed_by, problem }) => [
              kind,
              name,
              state,
              String(version),
              changed_at,
              changed_by,
              problem ?? '-',
            ]),
          ]),
  }),
  command({
    words: ['providers', 'add'],
    examples: [
      'providers add house --kind openai --base-url https://llm.example.com/v1 --api-key-file key.txt',
      'providers add groq --api-key-file -',
    ],
    operands: ['NAME'],
    flags: PROVIDER_FLAGS,
    summary:
      'define a provider, in use everywhere when this returns; --api-key-file - reads the credential from the input, --definition a YAML file with any fields of the config file',
    ask: async (api, given) =>
      api.call('createProvider', { body: { name: given.operands[0], ...(await fieldsIn(PROVIDER_SETTINGS, given)) } }),
    print: definitionText,
  }),
  command({
    words: ['providers', 'show'],
    examples: ['providers show house'],
    operands: ['NAME'],
    summary: 'show a provider that operators have defined; of its credentials, only whether they are set',
    ask: (api, { operands: [name = ''] }) => api.call('showProvider', { name }),
    print: definitionText,
  }),
  command({
    words: ['providers', 'update'],
    examples: ['providers update house --api-key-file new-key.txt', 'providers update house --markup 1.2'],
    operands: ['NAME'],
    flags: { ...PROVIDER_FLAGS, ...IF_VERSION },
    summary: 'change the given fields of a provider; with --if-version, only if it still has that version',
    ask: async (api, given) =>
      api.call('changeProvider', {
        name: given.operands[0] ?? '',
        body: await fieldsIn(PROVIDER_SETTINGS, given),
        version: versionGiven(given.flags),
      }),
    print: definitionText,
  }),
  command({
    words: ['providers', 'remove'],
    examples: ['providers remove house'],
    operands: ['NAME'],
    flags: IF_VERSION,
    summary: 'remove a provider that operators have defined and that no model needs',
    ask: (api, { operands: [name = ''], flags }) => api.call('removeProvider', { name, version: versionGiven(flags) }),
    print: removedText,
  }),
  command({
    words: ['models', 'add'],
    examples: ['models add house/large --provider house --upstream-model llama-4 --input 3 --output 15 --markup 1.2'],
    operands: ['ID'],
    flags: MODEL_FLAGS,
    summary:
      'define a model, in use everywhere when this returns; prices are USD per million tokens, and published ones count where none are given',
    ask: async (api, given) =>
      api.call('createModel', { body: { id: given.operands[0], ...(await modelFields(given)) } }),
    print: definitionText,
  }),
  command({
    words: ['models', 'show'],
    examples: ['models show house/large'],
    operands: ['ID'],
    summary: 'show a model that operators have defined, with its prices to come',
    ask: (api, { operands: [id = ''] }) => api.call('showModel', { id }),
    print: definitionText,
  }),
  command({
    words: ['models', 'update'],
    examples: ['models update house/large --context-window 128000'],
    operands: ['ID'],
    flags: { ...MODEL_FLAGS, ...IF_VERSION },
    summary: 'change the given fields of a model; with --if-version, only if it still has that version',
    ask: async (api, given) =>
      api.call('changeModel', {
        id: given.operands[0] ?? '',
        body: await modelFields(given),
        version: versionGiven(given.flags),
      }),
    print: definitionText,
  }),
  command({
    words: ['models', 'remove'],
    examples: ['models remove house/large'],
    operands: ['ID'],
    flags: IF_VERSION,
    summary: 'remove a model that operators have defined',
    ask: (api, { operands: [id = ''], flags }) => api.call('removeModel', { id, version: versionGiven(flags) }),
    print: removedText,
  }),
  command({
    words: ['prices', 'list'],
    examples: ['prices list'],
    summary: 'list what each model costs, its mark-up, who defines it, and the prices to come',
    ask: async (api) => (await api.call('models', {})).data,
    print: pricesTable,
  }),
  command({
    words: ['prices', 'set'],
    examples: [
      'prices set house/large --input 2.5 --output 12',
      'prices set house/large --markup 1.25 --from 2027-01-01',
    ],
    operands: ['MODEL'],
    flags: { ...PRICE_FLAGS, markup: 'N', from: 'DAY|TIME', ...IF_VERSION },
    summary:
      'set the price or the mark-up of a model that operators have defined, now or --from a day (00:00 UTC) or a time with its zone',
    ask: (api, given) => {
      const { flags, operands } = given;
      const { from, markup } = flags;
      const body = {
        ...pricingIn(given),
        ...(markup !== undefined && { markup: Number(markup) }),
        ...(from !== undefined && { from }),
      };
      return api.call('setPrice', { id: operands[0] ?? '', body, version: versionGiven(flags) });
    },
    print: definitionText,
  }),
  command({
    words: ['prices', 'cancel'],
    examples: ['prices cancel house/large --from 2027-01-01'],
    operands: ['MODEL'],
    flags: { from: 'DAY|TIME', ...IF_VERSION },
    summary: 'cancel a price that has not taken effect yet',
    ask: (api, { operands: [id = ''], flags }) => {
      if (flags.from === undefined) throw new UsageError('prices cancel: --from is missing: DAY|TIME');
      return api.call('cancelPrice', { id, from: flags.from, version: versionGiven(flags) });
    },
    print: definitionText,
  }),
];

/** `-`: what the input has, so that a credential need not be in a file. */
function textOf(path: string): string {
  return Buffer.from(contentOf(path === '-' ? '/dev/stdin' : path)).toString('utf8');
}

/** The file, if one is given, and what the flags say beside it. */
async function fieldsIn(settings: readonly Setting[], { flags }: CommandArguments): Promise<object> {
  const { definition } = flags;
  const written = definition === undefined ? {} : await definitionIn(definition);
  return { ...written, ...settingsIn(settings, flags) };
}

async function modelFields(given: CommandArguments): Promise<object> {
  const upstream = given.flags['upstream-model'];
  const fields: Readonly<Record<string, unknown>> = { ...(await fieldsIn(MODEL_SETTINGS, given)) };
  const provider = fields.provider;
  if (upstream !== undefined && typeof provider !== 'string') {
    throw new UsageError('--upstream-model needs --provider beside it');
  }
  return {
    ...fields,
    ...(upstream !== undefined && { targets: [{ provider, model: upstream }] }),
    ...pricingIn(given),
  };
}

function pricingIn({ flags }: CommandArguments): object {
  const given = PRICES.flatMap((name) => {
    const text = flags[name];
    return text === undefined ? [] : [[name.replaceAll('-', '_'), Number(text)]];
  });
  return given.length === 0 ? {} : { pricing: Object.fromEntries(given) };
}

async function definitionIn(path: string): Promise<object> {
  const { parse } = await import('yaml');
  const value: unknown = parse(textOf(path));
  if (isObject(value)) return value;
  throw new UsageError(`--definition ${path}: must be a mapping, with the fields that the config file has`);
}

function definitionText({ kind, name, state, problem, definition, version, changed_at, changed_by }: DefinitionView) {
  return [
    `${kind} ${name}: ${state.replace('_', ' ')}${problem === null ? '' : `, because ${problem}`}`,
    `version ${version}, changed ${changed_at} by ${changed_by}`,
    '',
    ...table(Object.entries(definition).map(([field, value]) => [`  ${field}`, shown(value)])),
  ];
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function removedText({ kind, name, now }: AnswerOf<'removeModel'>): readonly string[] {
  return [`${kind} ${name} is removed${now === null ? '' : `; the one of the ${now} counts`}`];
}

function pricesTable(models: AnswerOf<'models'>['data']): readonly string[] {
  return table([
    ['MODEL', 'USD IN / OUT', 'MARK-UP', 'DEFINED BY', 'LATER'],
    ...models.map(({ id, price, markup, defined_by, price_changes }) => [
      id,
      inAndOut(price.value),
      markup === null ? '-' : `× ${markup}`,
      defined_by,
      price_changes.map(({ from, value }) => `${inAndOut(value)} from ${from}`).join('; ') || '-',
    ]),
  ]);
}

function inAndOut({ input = 0, output = 0 }: Readonly<Record<string, number>>): string {
  return input === 0 && output === 0 ? 'free' : `${input} / ${output}`;
}
