/** What a workload is made of: stages of cases, each with the runs that are compared in it. */
import type { RequestShape } from './requests.ts';

export interface RunSpec {
  /** Its row in the table; unique within the case. */
  readonly name: string;
  readonly peer: string;
  readonly shape: RequestShape;
  /** What the peer is warmed up with; the same but for answers that take long. */
  readonly warmUpShape: RequestShape;
  /** The row that its ratio is against. */
  readonly reference: string;
  readonly keys: number;
  readonly idempotent: boolean;
}

/** Which columns a case is about. */
export type Figure = 'cpu' | 'latency' | 'memory' | 'throughput';

export interface CaseSpec {
  readonly id: string;
  readonly title: string;
  readonly figure: Figure;
  readonly unit: 'request' | 'chunk';
  readonly concurrency: number;
  readonly requests: number;
  readonly rounds: number;
  /** Where it needs another number of them than the run has. */
  readonly warmUpRounds?: number;
  readonly cutAfterMarks: number | null;
  /** TLS from the client and to the upstream; the same for all cases of a stage. */
  readonly secure?: boolean;
  readonly runs: readonly RunSpec[];
}

export interface Workload {
  readonly id: string;
  readonly title: string;
  /** Peers are started afresh for every stage, and the books are checked at its end. A case of several stages is one in the report. */
  readonly stages: readonly (readonly CaseSpec[])[];
}
