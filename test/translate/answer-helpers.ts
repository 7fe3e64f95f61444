/** What the tests of answers share. */
import { arrayAt, isObject, type JsonObject } from '../../src/lib/json.ts';

export const TOKENS = { input: 5, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, output: 6, reasoning: 0 };
export const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
export const chunk = (delta: object, finish: string | null = null): string =>
  data({ id: 'c1', created: 1, model: 'up', choices: [{ index: 0, delta, finish_reason: finish }] });
export const events = (text: string): JsonObject[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)));
export const objects = (value: JsonObject, name: string): JsonObject[] => (arrayAt(value, name) ?? []).filter(isObject);
