/**
 * How far the token counter is off, and what it costs: `node bench/counter.ts` prints the tables of docs/understand/counting.md.
 * The texts are this project's own files and those of counter-samples.ts; the weights were fitted to other ones.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { countTokens as cl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { countTokens as o200k } from 'gpt-tokenizer/encoding/o200k_base';
import { countTexts, type Encoder, textCounter } from '../src/counting/exact-count.ts';
import { likelyTokens } from '../src/counting/heuristic.ts';
import { likelyOutput } from '../src/counting/output-count.ts';
import { readPrompt } from '../src/counting/prompt-text.ts';
import { CJK, PROSE } from './counter-samples.ts';

const root = join(import.meta.dirname, '..');
const SAMPLE_UNITS = 2_000;
const asText = { disallowedSpecial: new Set<string>() };
const ENCODERS: readonly [Encoder, Encoder] = [(text) => o200k(text, asText), (text) => cl100k(text, asText)];

function filesOf(...patterns: string[]): string[] {
  return patterns
    .flatMap((pattern) => globSync(pattern, { cwd: root }))
    .sort()
    .map((name) => readFileSync(join(root, name), 'utf8'));
}

/** Cut into samples of about the same length; a short text is one sample. */
function samplesOf(texts: readonly string[]): string[] {
  return texts.flatMap((text) => {
    const parts = Math.max(1, Math.floor(text.length / SAMPLE_UNITS));
    return Array.from({ length: parts }, (_, part) => text.slice(part * SAMPLE_UNITS, (part + 1) * SAMPLE_UNITS));
  });
}

function base64(count: number): string[] {
  let seed = 1;
  const next = (): number => {
    seed = (seed * 48_271) % 0x7fff_ffff;
    return seed & 0xff;
  };
  return Array.from({ length: count }, () => Buffer.from(Array.from({ length: 1_500 }, next)).toString('base64'));
}

const KINDS: readonly (readonly [name: string, samples: readonly string[]])[] = [
  ['English prose', [PROSE.English]],
  ['German prose', [PROSE.German]],
  ['Russian prose', [PROSE.Russian]],
  ['Chinese', [CJK.Chinese]],
  ['Japanese', [CJK.Japanese]],
  ['Korean', [CJK.Korean]],
  ['technical text (docs)', samplesOf(filesOf('docs/**/*.md', '*.md'))],
  ['code (src)', samplesOf(filesOf('src/**/*.ts'))],
  ['JSON, indented', samplesOf(filesOf('docs/gateway.schema.json')).slice(0, 20)],
  [
    'JSON, compact',
    samplesOf(filesOf('docs/gateway.schema.json').map((text) => JSON.stringify(JSON.parse(text)))).slice(0, 20),
  ],
  ['JSON, lock file', samplesOf(filesOf('package-lock.json')).slice(0, 40)],
  ['base64', base64(20)],
];

const percent = (value: number): string => `${value > 0 ? '+' : ''}${Math.round(value * 100)} %`;

function errors(): string {
  const rows = KINDS.map(([name, samples]) => {
    let bytes = 0;
    let likely = 0;
    let high = 0;
    const exact: [number, number] = [0, 0];
    let worst = 0;
    for (const text of samples) {
      const [o, c] = [ENCODERS[0](text), ENCODERS[1](text)];
      const guess = likelyTokens([text]);
      bytes += Buffer.byteLength(text);
      likely += guess;
      high += countTexts({ certain: [text], definitions: [], others: [] }, 'other', textCounter(ENCODERS)).high;
      exact[0] += o;
      exact[1] += c;
      const off = guess / o - 1;
      if (Math.abs(off) > Math.abs(worst)) worst = off;
    }
    const [o, c] = exact;
    return [
      name,
      String(samples.length),
      (bytes / o).toFixed(2),
      (bytes / c).toFixed(2),
      percent(likely / o - 1),
      percent(likely / c - 1),
      percent(worst),
      percent(likelyOutput(bytes) / o - 1),
      `× ${(high / o).toFixed(1)}`,
      `× ${(bytes / o).toFixed(1)}`,
    ];
  });
  return table(
    [
      ...['text', 'samples', 'bytes per token, o200k', 'cl100k', 'likely to o200k', 'likely to cl100k'],
      ...['worst sample', 'output (bytes / 4)', 'counted high', 'high by bytes'],
    ],
    rows,
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Median of many runs, in µs. */
function micros(work: () => unknown, runs: number): number {
  const times: number[] = [];
  for (let run = 0; run < runs; run++) {
    const from = process.hrtime.bigint();
    work();
    times.push(Number(process.hrtime.bigint() - from) / 1_000);
  }
  return times.sort((a, b) => a - b)[runs >> 1] ?? 0;
}

function costs(): string {
  const prose = `${PROSE.English}\n\n`.repeat(300);
  const rows = [1_000, 20_000, 200_000].map((units) => {
    const body = JSON.parse(
      JSON.stringify({ model: 'm', messages: [{ role: 'user', content: prose.slice(0, units) }] }),
    );
    const likely = micros(() => {
      const { certain, definitions } = readPrompt(body);
      return likelyTokens([...certain, ...definitions]);
    }, 2_000);
    const exact = micros(() => ENCODERS[0](prose.slice(0, units)), 21);
    return [`${units / 1_000} KB`, `${likely.toFixed(1)} µs`, `${Math.round(exact)} µs`];
  });
  return table(['prose', 'likely', 'exact, o200k (off the loop)'], rows);
}

process.stdout.write(`${errors()}\n\n${costs()}\n`);
