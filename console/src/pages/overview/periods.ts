/** The periods of the overview, each with the one before it. */
export interface Period {
  readonly id: string;
  readonly label: string;
  /** In a sentence: "spent in …". */
  readonly words: string;
  readonly before: string;
  readonly since: string;
  readonly since_before: string;
  readonly step: 'hour' | 'day';
  readonly steps: number;
}

export const PERIODS: readonly Period[] = [
  {
    id: '24h',
    label: '24 hours',
    words: 'in the last 24 hours',
    before: 'the 24 hours before',
    since: '23h',
    since_before: '47h',
    step: 'hour',
    steps: 24,
  },
  {
    id: '7d',
    label: '7 days',
    words: 'in the last 7 days',
    before: 'the 7 days before',
    since: '6d',
    since_before: '13d',
    step: 'day',
    steps: 7,
  },
  {
    id: '30d',
    label: '30 days',
    words: 'in the last 30 days',
    before: 'the 30 days before',
    since: '29d',
    since_before: '59d',
    step: 'day',
    steps: 30,
  },
  {
    id: '90d',
    label: '90 days',
    words: 'in the last 90 days',
    before: 'the 90 days before',
    since: '89d',
    since_before: '179d',
    step: 'day',
    steps: 90,
  },
];

const STEP_MS = { hour: 3_600_000, day: 86_400_000 };

/** The beginning of each hour or day of the period, oldest first; days are those of UTC, as the ledger counts them. */
export function stepsOf({ step, steps }: Period, now: number): readonly number[] {
  const size = STEP_MS[step];
  const last = Math.floor(now / size) * size;
  return Array.from({ length: steps }, (_, index) => last - (steps - 1 - index) * size);
}

export function stepMs({ step }: Period): number {
  return STEP_MS[step];
}

/** Where the period before this one ends. */
export function beginOf(period: Period, now: number): string {
  return new Date(stepsOf(period, now)[0] ?? now).toISOString();
}
