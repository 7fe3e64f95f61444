/** One key keeps the exact counter busy with prompts that take it long, while other keys need it for prompts of an ordinary size. */
import { setTimeout as delay } from 'node:timers/promises';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { SPEECH } from '../../support/upstreams/spoken.ts';
import { type Arena, MODEL } from '../arena.ts';
import { type Answer, errorCode, send } from '../client.ts';
import { type Attack, summed } from '../trial.ts';

/** Letters without order take a tokenizer twenty times as long as prose: a second for each of these. */
const SLOW_UNITS = 120_000;
const SLOW_LETTERS = 'bcdfghjklmnpqrstvwxz';
const STOCK_UNITS = 1_000_000;
/** The bytes of such a prompt and its tokens cost more: the flood is refused, and costs nothing. */
const FLOOD_CREDIT = '0.05';
const FLOOD_AT_ONCE = 16;
/** 40 KB: some 8,000 tokens, so that its bytes alone cost 0.04 credits and its tokens 0.008. */
const PROMPT_UNITS = 40_000;
const TENANT_CREDIT = '0.025';
const TENANTS = 3;
const PAUSE_MS = 50;
/** Of the requests of a tenant, which is one key of few: beyond it it did not get its share of the counter. */
const UNAVAILABLE_SHARE_MAX = 0.1;

const VOCABULARY =
  'account balance carry decide every figure gateway hold insist judge keep limit model number order'.split(' ');

/** Never the same one, so that no count is remembered. */
function prose(arena: Arena, units: number): string {
  const pieces: string[] = [];
  for (let length = 0; length < units; ) {
    const word = arena.random.pick(VOCABULARY) ?? '';
    pieces.push(word);
    length += word.length + 1;
  }
  return pieces.join(' ');
}

function ask(key: CreatedKey, content: string): Promise<Answer> {
  const body = { model: MODEL, max_tokens: 100, messages: [{ role: 'user', content }] };
  return send(key, SPEECH.chat.path, body, { withinMs: 20_000 });
}

/** Each request with a key of its own that can pay one. */
async function tenant(arena: Arena, over: () => boolean, answers: Answer[]): Promise<void> {
  while (!over()) {
    const key = await arena.key({ credit: TENANT_CREDIT });
    answers.push(await ask(key, prose(arena, PROMPT_UNITS)));
    await delay(PAUSE_MS);
  }
}

function check(arena: Arena, when: string, answers: readonly Answer[]): void {
  const codes = answers.map(errorCode);
  const slowest = Math.round(Math.max(0, ...answers.map(({ ms }) => ms)));
  arena.figure(`tenants ${when}: ${summed(codes)}; the slowest took ${slowest} ms`);
  const refused = codes.filter((code) => /^(402|429|400|0)\b/.test(code));
  if (refused.length > 0) arena.fault(`tenants ${when} who can pay were refused: ${summed(refused)}`);
  const unavailable = codes.filter((code) => code.startsWith('503')).length;
  if (unavailable > answers.length * UNAVAILABLE_SHARE_MAX)
    arena.fault(`tenants ${when}: ${unavailable} of ${answers.length} got a 503`);
}

export const COUNT_FLOOD: Attack = {
  name: 'a flood of counts',
  tags: 'F44, R63',
  run: async (arena) => {
    arena.provider.answer = (call) => call.reply(200, SPEECH.chat.whole('Hello.'));
    // The first count of a process starts a thread and reads a vocabulary, which is not what is tried here.
    await ask(await arena.key({ credit: TENANT_CREDIT }), prose(arena, PROMPT_UNITS));
    const before: Answer[] = [];
    const untilMs = Date.now() + arena.leftMs / 5;
    await tenant(arena, () => Date.now() > untilMs, before);
    check(arena, 'before the flood', before);
    arena.figure(`${arena.peakMb} MB with the tokenizer, before the flood`);

    const flooder = await arena.key({ credit: FLOOD_CREDIT });
    const letters = [...SLOW_LETTERS];
    const stock = Array.from({ length: STOCK_UNITS }, () => letters[arena.random.int(letters.length)]).join('');
    const slow = (): string => {
      const from = arena.random.int(STOCK_UNITS - SLOW_UNITS);
      return stock.slice(from, from + SLOW_UNITS);
    };
    const flood: Answer[] = [];
    const during: Answer[] = [];
    const flooding = Array.from({ length: FLOOD_AT_ONCE }, async () => {
      while (arena.goesOn) flood.push(await ask(flooder, slow()));
    });
    await delay(500);
    await Promise.all(Array.from({ length: TENANTS }, () => tenant(arena, () => !arena.goesOn, during)));
    await Promise.all(flooding);
    arena.figure(`flood: ${summed(flood.map(errorCode))}`);
    check(arena, 'during the flood', during);
  },
};
