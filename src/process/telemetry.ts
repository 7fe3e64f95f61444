/** Traces and metrics over OTLP for one serving thread; nothing of it is loaded where no target is configured. */
import type { Environment } from '../config/settings.ts';
import { readTelemetry } from '../config/telemetry.ts';
import type { Log } from '../core/log.ts';
import type { Telemetry } from '../observe/telemetry/telemetry.ts';

export async function openTelemetry(env: Environment, log: Log): Promise<Telemetry | null> {
  const settings = readTelemetry(env);
  if (settings === null) return null;
  const telemetry = await import('../observe/telemetry/telemetry.ts');
  return telemetry.openTelemetry(settings, log);
}
