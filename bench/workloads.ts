/** The workloads W1 to W11: what is sent, by how many at once, to whom, and which run each ratio is against. */
import type { CaseSpec, RunSpec, Workload } from './case.ts';
import type { RequestShape } from './requests.ts';

/** Full or quick, in this order. */
type Size = readonly [full: number, quick: number];

export interface Sizing {
  readonly quick: boolean;
  readonly fileLimit: number;
  /** Gateways of other checkouts, measured wherever everyone is. */
  readonly checkouts: readonly string[];
}

/** Everyone who can carry a request unchanged. */
const EVERYONE = [
  'direct',
  'nginx',
  'bare',
  'bare again',
  'gateway',
  'gateway pg',
  'portkey',
  'litellm',
  'bifrost',
  'agentgateway',
];
/** The process itself, its libraries' files and the listening sockets. */
const FILES_RESERVED = 500;
/** A stream takes one descriptor towards the client and one towards the upstream. */
const FILES_PER_STREAM = 2;

const chatWhole = (bodyBytes: number, bytes: number): RequestShape => ({
  client: 'chat',
  native: 'chat',
  bodyBytes,
  answer: { kind: 'whole', bytes },
});
const chatStream = (chunks: number, paceMs: number): RequestShape => ({
  client: 'chat',
  native: 'chat',
  bodyBytes: 1_024,
  answer: { kind: 'stream', chunks, paceMs },
});
/**
 * Until an engine has compiled what runs for each request, that is a part of the figure. The last functions on the gateway's path are
 * compiled after some 50,000 requests. After 12,000 streams a tenth of the gateway's CPU was the compiler's: W3 was 1.37, after 24,000
 * 1.30, and after 60,000 1.17.
 */
const COMPILED_AFTER = 72_000;
const SMALL = chatWhole(1_024, 1_024);
const LARGE = chatWhole(200 * 1_024, 4_096);

function run(name: string, peer: string, shape: RequestShape, reference: string, more: Partial<RunSpec> = {}): RunSpec {
  return { name, peer, shape, warmUpShape: shape, reference, keys: 1, idempotent: false, ...more };
}

function everyone(shape: RequestShape, peers: readonly string[] = EVERYONE): RunSpec[] {
  return peers.map((peer) => run(peer, peer, shape, 'bare'));
}

export function allWorkloads(sizing: Sizing): readonly Workload[] {
  const pick = ([full, quick]: Size): number => (sizing.quick ? quick : full);
  return [
    wholeAnswers(pick),
    largeBodies(pick),
    streams(pick),
    openStreams(pick, sizing),
    translation(pick),
    hotKey(pick),
    cancelStorm(pick),
    idempotency(pick),
    secured(pick),
    observed(pick),
    growth(pick),
  ].map((workload) => withCheckouts(workload, sizing.checkouts));
}

type Pick = (size: Size) => number;

/** Beside every run of this checkout's gateway of the same kind; its name, and what it is compared with, are then the other's. */
function withCheckouts(workload: Workload, checkouts: readonly string[]): Workload {
  const beside = (spec: RunSpec): readonly RunSpec[] => [
    spec,
    ...checkouts
      .filter(
        (peer) => peer.startsWith('gateway pg') === (spec.peer === 'gateway pg') && /^gateway( pg)?$/.test(spec.peer),
      )
      .map((peer) => {
        const named = (text: string): string => text.replace(/^gateway( pg)?/, peer);
        return { ...spec, name: named(spec.name), peer, reference: named(spec.reference) };
      }),
  ];
  const stages = workload.stages.map((stage) => stage.map((spec) => ({ ...spec, runs: spec.runs.flatMap(beside) })));
  return { ...workload, stages };
}

function wholeAnswers(pick: Pick): Workload {
  const cpu: CaseSpec = {
    id: 'W1',
    title: 'chat to chat, 1 KB in, 1 KB out, 16 at once',
    figure: 'cpu',
    unit: 'request',
    concurrency: 16,
    requests: pick([2_000, 600]),
    rounds: pick([12, 5]),
    warmUpRounds: pick([COMPILED_AFTER / 2_000, 1]),
    cutAfterMarks: null,
    runs: everyone(SMALL, [...EVERYONE, 'floor', 'gateway pg tree']),
  };
  const latency: CaseSpec = {
    ...cpu,
    id: 'W1 latency',
    title: 'the same, one at a time',
    figure: 'latency',
    concurrency: 1,
    requests: pick([500, 150]),
  };
  return { id: 'W1', title: 'whole answers', stages: [[cpu, latency]] };
}

function compiled(pick: Pick, requests: number) {
  return {
    requests: pick([requests, 48]),
    rounds: pick([20, 5]),
    warmUpRounds: pick([COMPILED_AFTER / requests, 1]),
  } as const;
}

function largeBodies(pick: Pick): Workload {
  const cpu: CaseSpec = {
    id: 'W2',
    title: "chat to chat, 200 KB in (a coding agent's context), 4 KB out, 8 at once",
    figure: 'cpu',
    unit: 'request',
    concurrency: 8,
    ...compiled(pick, 300),
    cutAfterMarks: null,
    runs: everyone(LARGE, [...EVERYONE.slice(0, 4), 'bare+parse', ...EVERYONE.slice(4)]),
  };
  return { id: 'W2', title: 'large bodies', stages: [[cpu]] };
}

function streams(pick: Pick): Workload {
  const unpaced: CaseSpec = {
    id: 'W3',
    title: 'chat to chat, SSE, 64 chunks unpaced, 8 at once',
    figure: 'cpu',
    unit: 'chunk',
    concurrency: 8,
    ...compiled(pick, 400),
    cutAfterMarks: null,
    runs: everyone(chatStream(64, 0)),
  };
  const paced: CaseSpec = {
    ...unpaced,
    id: 'W3 paced',
    title: '200 open streams, one chunk per 20 ms each',
    concurrency: 200,
    requests: 200,
    rounds: pick([6, 3]),
    warmUpRounds: pick([6, 1]),
    runs: everyone(chatStream(pick([50, 20]), 20)),
  };
  // As many chunks per second, of five times as many streams: what each of them keeps is cold when its next chunk comes.
  const manyPaced: CaseSpec = {
    ...paced,
    id: 'W3 paced 1000',
    title: '1,000 open streams, one chunk per 100 ms each',
    concurrency: 1_000,
    requests: 1_000,
    warmUpRounds: pick([3, 1]),
    runs: everyone(chatStream(pick([50, 8]), 100)),
  };
  const latency: CaseSpec = {
    ...unpaced,
    id: 'W3 latency',
    // Paced, because the upstream shares its core with the load: its burst would delay what the load sees.
    title: '4 chunks, one per 2 ms, one stream at a time',
    figure: 'latency',
    concurrency: 1,
    requests: pick([150, 25]),
    rounds: pick([8, 4]),
    warmUpRounds: pick([6, 1]),
    runs: everyone(chatStream(4, 2)),
  };
  return { id: 'W3', title: 'streams', stages: [[unpaced, paced, manyPaced, latency]] };
}

function openStreams(pick: Pick, { fileLimit }: Sizing): Workload {
  const affordable = Math.floor((fileLimit - FILES_RESERVED) / FILES_PER_STREAM);
  const stage = (size: Size, chunks: Size): readonly CaseSpec[] => {
    const wanted = pick(size);
    const count = Math.min(wanted, affordable);
    const scaled = count < wanted ? ` (SCALED DOWN from ${wanted}: ulimit -n is ${fileLimit})` : '';
    return [
      {
        id: `W4 ${wanted}`,
        title: `${count} open streams${scaled}, one chunk per second each`,
        figure: 'memory',
        unit: 'chunk',
        concurrency: count,
        requests: count,
        rounds: 1,
        cutAfterMarks: null,
        runs: everyone(chatStream(pick(chunks), 1_000)).map((spec) => ({ ...spec, warmUpShape: chatStream(20, 20) })),
      },
    ];
  };
  return {
    id: 'W4',
    title: 'many open streams',
    stages: [stage([1_000, 200], [10, 5]), stage([10_000, 1_000], [30, 8])],
  };
}

function translation(pick: Pick): Workload {
  const runs = (answer: RequestShape['answer']): RunSpec[] => {
    const shape = (client: 'chat' | 'messages', native: 'chat' | 'messages'): RequestShape => ({
      client,
      native,
      bodyBytes: 1_024,
      answer,
    });
    const both = (peer: string): RunSpec[] => [
      run(`${peer}: chat to chat`, peer, shape('chat', 'chat'), `${peer}: chat to chat`),
      run(`${peer}: chat to messages`, peer, shape('chat', 'messages'), `${peer}: chat to chat`),
      run(`${peer}: messages to messages`, peer, shape('messages', 'messages'), `${peer}: messages to messages`),
      run(`${peer}: messages to chat`, peer, shape('messages', 'chat'), `${peer}: messages to messages`),
    ];
    return [...both('gateway'), ...both('portkey')];
  };
  const streamed: CaseSpec = {
    id: 'W5 streamed',
    title: 'translation between the formats, 64 chunks unpaced, 8 at once; ratios against passthrough',
    figure: 'cpu',
    unit: 'chunk',
    concurrency: 8,
    requests: pick([150, 48]),
    rounds: pick([8, 4]),
    cutAfterMarks: null,
    runs: runs({ kind: 'stream', chunks: 64, paceMs: 0 }),
  };
  const whole: CaseSpec = {
    ...streamed,
    id: 'W5 whole',
    title: 'translation between the formats, whole answers of 1 KB, 16 at once; ratios against passthrough',
    unit: 'request',
    concurrency: 16,
    requests: pick([1_000, 400]),
    runs: runs({ kind: 'whole', bytes: 1_024 }),
  };
  return { id: 'W5', title: 'translation', stages: [[whole, streamed]] };
}

function hotKey(pick: Pick): Workload {
  const keys = pick([64, 16]);
  const spec: CaseSpec = {
    id: 'W6',
    title: `one hot key against ${keys} keys, 64 at once`,
    figure: 'throughput',
    unit: 'request',
    concurrency: 64,
    requests: pick([3_000, 1_500]),
    rounds: pick([12, 6]),
    cutAfterMarks: null,
    runs: [
      run('bare', 'bare', SMALL, 'bare'),
      run('bare again', 'bare again', SMALL, 'bare'),
      run('gateway: many keys', 'gateway', SMALL, 'gateway: many keys', { keys }),
      run('gateway: one key', 'gateway', SMALL, 'gateway: many keys'),
    ],
  };
  return { id: 'W6', title: 'one hot key', stages: [[spec]] };
}

function cancelStorm(pick: Pick): Workload {
  const spec: CaseSpec = {
    id: 'W7',
    title: 'cancel storm: 200 streams at one chunk per 10 ms, every second one cut after 10 of 40 chunks',
    figure: 'cpu',
    unit: 'request',
    concurrency: 200,
    requests: pick([800, 400]),
    rounds: pick([6, 3]),
    cutAfterMarks: 10,
    runs: everyone(chatStream(40, 10)),
  };
  return { id: 'W7', title: 'cancel storm', stages: [[spec]] };
}

function idempotency(pick: Pick): Workload {
  const spec: CaseSpec = {
    id: 'W8',
    title: 'W1 with a fresh Idempotency-Key on every request',
    figure: 'cpu',
    unit: 'request',
    concurrency: 16,
    requests: pick([2_000, 800]),
    rounds: pick([10, 5]),
    cutAfterMarks: null,
    runs: [
      run('bare', 'bare', SMALL, 'bare'),
      run('bare again', 'bare again', SMALL, 'bare'),
      run('gateway without', 'gateway', SMALL, 'bare'),
      run('gateway with', 'gateway', SMALL, 'gateway without', { idempotent: true }),
    ],
  };
  return { id: 'W8', title: 'idempotency', stages: [[spec]] };
}

/**
 * Where a tenth is aimed at: processes of one program differ by about that for as long as they live, and while an engine still
 * compiles, that is a third of the figure. The visits are short, so that nobody rests for long.
 */
function manyStarts(spec: Omit<CaseSpec, 'requests' | 'rounds'>, pick: Pick): Workload['stages'] {
  const sized = { requests: pick([2_000, 800]), rounds: pick([10, 5]), warmUpRounds: pick([24, 1]) };
  return Array<[CaseSpec]>(pick([6, 1])).fill([{ ...spec, ...sized }]);
}

function observed(pick: Pick): Workload {
  const silent = 'gateway silent';
  const spec = {
    id: 'W10',
    title:
      'W1 with request log, metrics and 1 % of traces, against the same without; the access log and all traces beside it',
    figure: 'cpu' as const,
    unit: 'request' as const,
    concurrency: 16,
    cutAfterMarks: null,
    runs: [
      run(silent, silent, SMALL, silent),
      run('gateway silent again', 'gateway silent again', SMALL, silent),
      run('gateway observed', 'gateway observed', SMALL, silent),
      run('gateway traced', 'gateway traced', SMALL, silent),
      run('gateway with its defaults', 'gateway', SMALL, silent),
    ],
  };
  return { id: 'W10', title: 'observability', stages: manyStarts(spec, pick) };
}

function growth(pick: Pick): Workload {
  const spec = {
    id: 'W11',
    title:
      'W1 on the books of a month (10 million usage records of 100,000 keys), and with keys below three levels of accounts, against an empty ledger',
    figure: 'cpu' as const,
    unit: 'request' as const,
    concurrency: 16,
    cutAfterMarks: null,
    runs: [
      run('bare', 'bare', SMALL, 'bare'),
      run('bare again', 'bare again', SMALL, 'bare'),
      run('gateway', 'gateway', SMALL, 'bare'),
      run('gateway again', 'gateway again', SMALL, 'gateway'),
      run('gateway tree', 'gateway tree', SMALL, 'gateway'),
      run('gateway grown', 'gateway grown', SMALL, 'gateway'),
    ],
  };
  return { id: 'W11', title: 'growth', stages: manyStarts(spec, pick) };
}

/** Those that speak TLS on both sides. */
const SECURE_PEERS = ['direct', 'bare', 'bare again', 'gateway'];

function secured(pick: Pick): Workload {
  const whole: CaseSpec = {
    id: 'W9',
    title: 'W1 with TLS from the client and to the upstream',
    figure: 'cpu',
    unit: 'request',
    concurrency: 16,
    requests: pick([2_000, 600]),
    rounds: pick([12, 5]),
    warmUpRounds: pick([COMPILED_AFTER / 2_000, 1]),
    cutAfterMarks: null,
    secure: true,
    runs: everyone(SMALL, SECURE_PEERS),
  };
  const streamed: CaseSpec = {
    ...whole,
    id: 'W9 streamed',
    title: 'W3 with TLS from the client and to the upstream: 64 chunks unpaced, 8 at once',
    unit: 'chunk',
    concurrency: 8,
    ...compiled(pick, 400),
    runs: everyone(chatStream(64, 0), SECURE_PEERS),
  };
  return { id: 'W9', title: 'TLS on both sides', stages: [[whole, streamed]] };
}
