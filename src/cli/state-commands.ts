/** Commands about a running gateway: how its providers do, and what it runs with. */
import type { AnswerOf } from '../admin/client.ts';
import { AdminError } from '../admin/error.ts';
import { table } from '../lib/text-table.ts';
import { milliseconds } from '../observe/explain.ts';
import { type Command, command } from './command.ts';

type Provider = AnswerOf<'providers'>['data'][number];
type Setting = AnswerOf<'settings'>['data'][number];

const SOURCES: Readonly<Record<Setting['from'], string>> = {
  file: 'config file',
  environment: 'environment',
  command_line: 'command line',
  default: 'default',
};

export const STATE_COMMANDS: readonly Command[] = [
  command({
    words: ['providers'],
    examples: ['providers'],
    summary: 'list the providers of a running gateway with their health, and why one is degraded or down',
    ask: async (api) => (await api.call('providers', {})).data,
    print: (providers) =>
      table([
        ['PROVIDER', 'HEALTH', 'CREDENTIALS', 'ADDRESS', 'WHY'],
        ...providers.map((provider) => [
          provider.name,
          provider.health,
          `${provider.credentials - provider.credentials_cooling} of ${provider.credentials}`,
          provider.base_url || '-',
          whyNotWell(provider),
        ]),
      ]),
  }),
  command({
    words: ['models', 'refresh'],
    examples: ['models refresh'],
    summary: 'ask the providers for their models now, with prices and limits where they list these',
    ask: (api) => api.call('refreshModelLists', {}),
    print: ({ asked, failed }) => [
      ...asked.map(({ provider, models }) => `${provider} lists ${models} models`),
      ...failed.map(({ provider, reason }) => `${provider} gave no list: ${reason}`),
      ...(asked.length + failed.length === 0 ? ['No provider has a model whose figures are left open.'] : []),
    ],
    exitCode: ({ failed }) => (failed.length === 0 ? 0 : 1),
  }),
  command({
    words: ['models', 'test'],
    examples: ['models test openai/gpt-5'],
    operands: ['MODEL'],
    summary: 'generate a token at each target of a model, which costs a little; exit code 1 if one fails',
    ask: async (api, { operands: [id = ''] }) => {
      const model = (await api.call('models', {})).data.find((each) => each.id === id);
      if (model === undefined) {
        throw new AdminError('not_found', `no model ${JSON.stringify(id)} is served: list them with "gateway models"`);
      }
      const targets = model.targets.map(({ provider, upstream_model, format }) => ({
        provider,
        upstream_model,
        format,
      }));
      return Promise.all(
        targets.map(async (target) => ({
          ...target,
          ...(await api.call('testTarget', { body: { model: id, ...target } })),
        })),
      );
    },
    print: (tested) =>
      table([
        ['PROVIDER', 'MODEL', 'FORMAT', 'RESULT', 'TOOK'],
        ...tested.map(({ provider, upstream_model, format, state, detail, took_ms }) => [
          provider,
          upstream_model,
          format,
          `${state}: ${detail}`,
          took_ms === null ? '-' : milliseconds(took_ms),
        ]),
      ]),
    exitCode: (tested) => (tested.every(({ state }) => state === 'ok') ? 0 : 1),
  }),
  command({
    words: ['config', 'status'],
    examples: ['config status'],
    summary: 'whether a running gateway has its config file in use as it is now; exit code 1 and why, if it has not',
    ask: (api) => api.call('configuration', {}),
    print: ({ file, found, taken_at, refused }) => {
      if (refused.length > 0) {
        const lines = refused.map((line) => `  ${line}`);
        return [`${file} cannot be used as it is now: what was read ${taken_at} stays in use`, ...lines];
      }
      return found
        ? [`${file} is in use as it is now; read ${taken_at}`]
        : [`no config file (${file} does not exist): defaults and the environment are in use`];
    },
    exitCode: ({ refused }) => (refused.length === 0 ? 0 : 1),
  }),
  command({
    words: ['settings'],
    examples: ['settings'],
    summary: 'show the settings in force of a running gateway and where each comes from; a secret is only ever "set"',
    ask: (api) => api.call('settings', {}),
    print: ({ data }) =>
      table([
        ['SETTING', 'VALUE', 'FROM'],
        ...data.map(({ name, value, from }) => [name, shownValue(value), SOURCES[from]]),
      ]),
  }),
];

function whyNotWell({ cooling_ms, credentials_cooling, targets }: Provider): string {
  const open = targets.filter(({ circuit }) => circuit !== 'closed').map(({ upstream_model }) => upstream_model);
  const cooling = targets.filter((target) => target.cooling_ms > 0).map(({ upstream_model }) => upstream_model);
  const keys = targets.filter(({ keys_with_open_circuit }) => keys_with_open_circuit > 0);
  const reasons = [
    cooling_ms > 0 && `every credential cools down for ${milliseconds(cooling_ms)}`,
    cooling_ms === 0 && credentials_cooling > 0 && `${credentials_cooling} credentials cool down`,
    open.length > 0 && `circuit open: ${open.join(', ')}`,
    cooling.length > 0 && `cools down: ${cooling.join(', ')}`,
    ...keys.map((target) => `${target.upstream_model} is left alone for ${target.keys_with_open_circuit} keys`),
  ].filter((reason) => reason !== false);
  return reasons.length === 0 ? '-' : reasons.join('; ');
}

function shownValue(value: unknown): string {
  const text = Array.isArray(value) ? value.join(', ') : String(value ?? '');
  return text === '' ? '-' : text;
}
