/** The memory of another process, as Linux tells it. */
import { readFileSync, writeFileSync } from 'node:fs';

export const MEMORY_UNTOLD = process.platform !== 'linux' && 'only Linux tells the memory of another process';

export interface ResidentMemory {
  readonly bytes: number;
  /** The most since the process began, or since `resetPeak`. */
  readonly peakBytes: number;
}

export function residentMemory(pid: number): ResidentMemory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const bytesOf = (field: string): number =>
    1_024 * Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]);
  return { bytes: bytesOf('VmRSS'), peakBytes: bytesOf('VmHWM') };
}

export function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}
