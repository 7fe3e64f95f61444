/**
 * CPU time and resident memory of a whole process tree, from /proc. `schedstat` counts nanoseconds on the processor per
 * thread, where `stat` counts ticks of ten milliseconds; of children that have ended only the latter are left. A thread that ends
 * takes its time with it, so a process is measured only while its threads stay.
 */
import { readdirSync, readFileSync } from 'node:fs';

export interface TreeUse {
  readonly cpuNs: number;
  readonly rssBytes: number;
}

const TICK_NS = 10_000_000;

export function treeUse(pid: number): TreeUse {
  let cpuNs = 0;
  let rssBytes = 0;
  for (const member of processTree(pid)) {
    cpuNs += processCpuNs(member);
    rssBytes += processRssBytes(member);
  }
  return { cpuNs, rssBytes };
}

function processTree(root: number): number[] {
  const found = [root];
  for (let i = 0; i < found.length; i++) {
    const pid = found[i];
    if (pid === undefined) break;
    for (const thread of threads(pid)) {
      const children = readOrEmpty(`/proc/${pid}/task/${thread}/children`).trim();
      if (children !== '') found.push(...children.split(' ').map(Number));
    }
  }
  return found;
}

function processCpuNs(pid: number): number {
  let total = 0;
  for (const thread of threads(pid)) {
    total += Number(readOrEmpty(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0] ?? 0);
  }
  return total + endedChildrenTicks(pid) * TICK_NS;
}

/** In the fields after the name, which may have spaces in it. */
function endedChildrenTicks(pid: number): number {
  const stat = readOrEmpty(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[13] ?? 0) + Number(fields[14] ?? 0);
}

function processRssBytes(pid: number): number {
  const match = /^VmRSS:\s+(\d+) kB/m.exec(readOrEmpty(`/proc/${pid}/status`));
  return match ? Number(match[1]) * 1024 : 0;
}

function threads(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** A process may end between the listing and the reading; then it used nothing. */
function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
