/** Every figure of Gemini's usage counts as docs/connect/sdk-names.md says. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDecisions } from '../../../tools/drift/decisions.ts';
import { ask } from '../../support/scripted-gateway.ts';
import { geminiEnd, geminiGateway, geminiParts } from './scripted.ts';

const REPORTED = { promptTokenCount: 100, candidatesTokenCount: 50, thoughtsTokenCount: 0, cachedContentTokenCount: 0 };
const FIGURES = readDecisions().filter(
  ({ api, kind, name }) => api === 'gemini' && kind === 'usage' && /Count$/.test(name),
);

test('what is priced changes the usage that is charged, and what is ignored does not', async () => {
  await using scene = await geminiGateway();
  const key = await scene.gateway.creditKey();
  const usageWith = async (usage: typeof REPORTED): Promise<unknown> => {
    const answer = ask(key, 'responses', { stream: true });
    (await scene.first.next()).stream([geminiParts({ text: 'Hello' }), geminiEnd(usage)]);
    const { text } = await answer;
    return /"usage":(\{"input_tokens".*?\}[^}]*\}[^}]*\})/.exec(text)?.[1];
  };
  const plain = await usageWith(REPORTED);
  assert.match(String(plain), /"input_tokens":100/);
  const changing: string[] = [];
  for (const { name } of FIGURES) {
    const usage = { ...REPORTED, [name]: (REPORTED[name as keyof typeof REPORTED] ?? 0) + 7 };
    if ((await usageWith(usage)) !== plain) changing.push(name);
  }
  const priced = FIGURES.filter(({ decision }) => decision === 'priced').map(({ name }) => name);
  assert.deepEqual(changing, priced);
});
