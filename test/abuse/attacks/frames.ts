/** An answer in frames that are larger than what is held for it, many at once on what carries one of them. */
import type { Format } from '../../../src/core/endpoints.ts';
import { NO_TOKENS } from '../../../src/core/usage.ts';
import { type Block, streamedAnswer } from '../../support/upstreams/answers.ts';
import type { ScriptedCall } from '../../support/upstreams/scripted.ts';
import { FORMAT_NAMES, INPUT_TOKENS, SPEECH } from '../../support/upstreams/spoken.ts';
import { type Arena, modelOf } from '../arena.ts';
import { type Answer, errorCode, send } from '../client.ts';
import { checkMoney, OUTPUT_NANOS, type Purse, tokensReceived, words } from '../money.ts';
import { type Attack, summed } from '../trial.ts';

/** 120 KB. */
const TOKENS = 30_000;
/** 2 MiB. */
const HUGE_TOKENS = 524_288;
const AT_ONCE = 40;
const HUGE_AT_ONCE = 8;
/** Carries the bound of one answer of 120 KB, half as much again as its tokens (0.36 credits), and not a second answer. */
const CREDIT = '0.6';
const BUDGET = '50000';

interface Shape {
  readonly name: string;
  readonly tokens: number;
  readonly outputLimit: number;
  readonly atOnce: number;
  readonly block: Block;
}

const SHAPES: readonly Shape[] = [
  {
    name: 'text',
    tokens: TOKENS,
    outputLimit: 64_000,
    atOnce: AT_ONCE,
    block: { kind: 'text', pieces: [words(TOKENS)] },
  },
  {
    name: 'tool',
    tokens: TOKENS,
    outputLimit: 64_000,
    atOnce: AT_ONCE,
    block: { kind: 'tool', id: 'call_1', name: 'write_file', pieces: [JSON.stringify({ content: words(TOKENS) })] },
  },
  {
    name: 'huge',
    tokens: HUGE_TOKENS,
    outputLimit: 600_000,
    atOnce: HUGE_AT_ONCE,
    block: { kind: 'text', pieces: [words(HUGE_TOKENS)] },
  },
];

const LIMIT_FIELD = { chat: 'max_tokens', responses: 'max_output_tokens', messages: 'max_tokens' } as const;
const EXTRA: Readonly<Record<Format, object>> = {
  chat: { stream_options: { include_usage: true } },
  responses: { store: false },
  messages: {},
};

function framesOf(format: Format, { block, tokens }: Shape): readonly Buffer[] {
  const finish = block.kind === 'tool' ? 'tool' : 'stop';
  const answer = streamedAnswer(format, {
    blocks: [block],
    finish,
    tokens: { ...NO_TOKENS, input: INPUT_TOKENS, output: tokens },
  });
  return answer.split(/(?<=\n\n)/).map((frame) => Buffer.from(frame));
}

export function formatOf({ requestLine }: ScriptedCall): Format {
  return FORMAT_NAMES.find((format) => requestLine.includes(`${SPEECH[format].path} `)) ?? 'chat';
}

type Payer = (arena: Arena) => Promise<Omit<Purse, 'name'>>;

const PAYERS: Readonly<Record<string, Payer>> = {
  balance: async (arena) => ({
    key: await arena.key({ credit: CREDIT }),
    perToken: OUTPUT_NANOS,
    limit: Number(CREDIT) * 1e9,
  }),
  cap: async (arena) => {
    const { accounts } = arena.gateway.admin;
    const root = await accounts.create({ name: 'root' });
    await accounts.addCredit(root.id, { amount: '100' });
    const team = await accounts.create({ name: 'team', parent: root.id, credit_cap: `${CREDIT}/none` });
    const key = await arena.key({ credit: undefined, account: team.id });
    return { key, perToken: OUTPUT_NANOS, limit: Number(CREDIT) * 1e9 };
  },
  budget: async (arena) => ({
    key: await arena.key({ mode: 'token_budget', credit: undefined, budget: BUDGET }),
    perToken: 1,
    limit: Number(BUDGET),
  }),
};

async function round(arena: Arena, format: Format, shape: Shape, payer: string, atOnce: number): Promise<void> {
  const name = `${format}, ${shape.name}, ${payer}, ${atOnce} at once`;
  const purse = await PAYERS[payer]?.(arena);
  if (purse === undefined) throw new Error(`nobody pays by ${payer}`);
  const body = SPEECH[format].request({
    ...EXTRA[format],
    model: `frames-${shape.name}`,
    stream: true,
    [LIMIT_FIELD[format]]: shape.outputLimit,
  });
  const answers = await Promise.all(Array.from({ length: atOnce }, () => send(purse.key, SPEECH[format].path, body)));
  if (!arena.isAlive) return;
  const served = answers.filter(({ status }) => status === 200);
  const bought = served.map(({ requestId, text }) => ({
    requestId,
    received: tokensReceived(text),
    produced: shape.tokens,
  }));
  const { received, charged } = await checkMoney(arena, { ...purse, name }, bought);
  const worth = (value: number): string => (purse.perToken === 1 ? `${value} tokens` : (value / 1e9).toFixed(4));
  const whole = bought.filter((one) => one.received >= shape.tokens).length;
  arena.figure(`${name}: ${whole} whole, went out ${worth(received)}, charged ${worth(charged)}; ${endings(answers)}`);
  if (atOnce === 1 && shape.tokens === TOKENS && whole !== 1)
    arena.fault(`${name}: it was not served whole although it can be paid`);
}

function endings(answers: readonly Answer[]): string {
  return summed(
    answers.map((answer) => (answer.status === 200 ? (answer.complete ? 'ended' : 'broken') : errorCode(answer))),
  );
}

export const LARGE_FRAMES: Attack = {
  name: 'answers in large frames',
  tags: 'F47, R13',
  settings: () => ({
    models: SHAPES.map(({ name, outputLimit }) =>
      modelOf(`frames-${name}`, {
        targets: [{ provider: 'scripted', model: name }],
        max_output_tokens: outputLimit,
      }),
    ),
    streams: { hold_wait: 1 },
  }),
  run: async (arena) => {
    const made = new Map(
      FORMAT_NAMES.flatMap((format) =>
        SHAPES.map((shape) => [`${format} ${shape.name}`, framesOf(format, shape)] as const),
      ),
    );
    arena.provider.answer = (call) => call.stream(made.get(`${formatOf(call)} ${call.body.model}`) ?? []);
    const payers = Object.keys(PAYERS);
    const [first] = SHAPES;
    if (first === undefined) return;
    // What can be paid is served: refusing everything would be exact, too.
    for (const format of FORMAT_NAMES) await round(arena, format, first, 'balance', 1);
    for (let turn = 0; arena.goesOn || turn < SHAPES.length; turn++) {
      const shape = SHAPES[turn % SHAPES.length] ?? first;
      for (const [index, format] of FORMAT_NAMES.entries()) {
        await round(arena, format, shape, payers[(index + turn) % payers.length] ?? 'balance', shape.atOnce);
      }
      if (!arena.isAlive || turn >= 2 * SHAPES.length) break;
    }
  },
};
