/** The periods of the overview, each with the one before it. */
export interface Period {
  readonly id: string;
  readonly label: string;
  /** In a sentence: "spent in …". */
  readonly words: string;
  readonly before: string;
  readonly step: 'hour' | 'day' | 'month';
  readonly steps: number;
}

export const PERIODS: readonly Period[] = [
  {
    id: '24h',
    label: '24 hours',
    words: 'in the last 24 hours',
    before: 'the 24 hours before',
    step: 'hour',
    steps: 24,
  },
  { id: '7d', label: '7 days', words: 'in the last 7 days', before: 'the 7 days before', step: 'day', steps: 7 },
  { id: '30d', label: '30 days', words: 'in the last 30 days', before: 'the 30 days before', step: 'day', steps: 30 },
  { id: '90d', label: '90 days', words: 'in the last 90 days', before: 'the 90 days before', step: 'day', steps: 90 },
  {
    id: '12m',
    label: '12 months',
    words: 'in the last 12 months',
    before: 'the 12 months before',
    step: 'month',
    steps: 12,
  },
];

const STEP_MS = { hour: 3_600_000, day: 86_400_000 };

/** Hours, days and months are those of UTC, as the ledger counts them. `by`: how many steps later it begins. */
function stepAt(step: Period['step'], at: number, by = 0): number {
  if (step === 'month') {
    const date = new Date(at);
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + by);
  }
  return (Math.floor(at / STEP_MS[step]) + by) * STEP_MS[step];
}

/** The beginning of each step of the period, oldest first. */
export function stepsOf({ step, steps }: Period, now: number): readonly number[] {
  return Array.from({ length: steps }, (_, index) => stepAt(step, now, index - steps + 1));
}

/** The beginning of the step that a time is in. */
export function stepOf({ step }: Period, at: number): number {
  return stepAt(step, at);
}

/** Where the step that begins at this time ends. */
export function endOf({ step }: Period, at: number): number {
  return stepAt(step, at, 1);
}

export function beginOf({ step, steps }: Period, now: number): string {
  return new Date(stepAt(step, now, 1 - steps)).toISOString();
}

/** Of the period before, which ends where this one begins. */
export function beginBefore({ step, steps }: Period, now: number): string {
  return new Date(stepAt(step, now, 1 - 2 * steps)).toISOString();
}
