/** The gateway in a process that measures itself when its parent asks. */
import { readSettings } from '../../src/config/settings.ts';
import { NO_LOG } from '../../src/core/log.ts';
import { startGateway } from '../../src/process/start.ts';
import type { ChildReport, Measurement } from './measured-gateway.ts';

function tell(report: ChildReport): void {
  process.send?.(report);
}

function measure(): Measurement {
  // Twice: what the first collection finalizes, the second one frees.
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  const active = process.getActiveResourcesInfo();
  return {
    heapBytes: heapUsed + arrayBuffers,
    residentBytes: rss,
    sockets: active.filter((name) => name === 'TCPSocketWrap').length,
    timers: active.filter((name) => name === 'Timeout').length,
  };
}

const gateway = await startGateway(readSettings(process.env), process.env, NO_LOG, () => {});
process.on('message', () => tell({ kind: 'measured', ...measure() }));
process.once('disconnect', () => void gateway.close().then(() => process.exit(0)));
tell({ kind: 'listening' });
