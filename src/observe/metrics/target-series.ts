/** What the requests for one model at one provider add up to. Money is in nanos: whole numbers, exact up to nine million credits. */
import type { RequestRecord } from '../../core/request-record.ts';
import { Histogram } from '../../lib/histogram.ts';
import { FAMILIES } from './families.ts';

export class TargetSeries {
  input = 0;
  cacheRead = 0;
  cacheWrite = 0;
  cacheWrite1h = 0;
  output = 0;
  reasoning = 0;
  chargedNanos = 0;
  chargedTokens = 0;
  costNanos = 0;
  providerCostNanos = 0;
  flagged = 0;
  clamped = 0;
  shortfallNanos = 0;
  shortfallTokens = 0;
  readonly streamed = new Latencies();
  readonly whole = new Latencies();
  betweenChunks: Histogram | null = null;

  charge({ usage, charged, owed, mode, costNanos, providerCostNanos, flag }: RequestRecord): void {
    if (usage !== null) {
      const { tokens } = usage;
      this.input += tokens.input;
      this.cacheRead += tokens.cacheRead;
      this.cacheWrite += tokens.cacheWrite;
      this.cacheWrite1h += tokens.cacheWrite1h;
      this.output += tokens.output;
      this.reasoning += tokens.reasoning;
    }
    if (flag !== null) this.flagged += 1;
    if (costNanos !== null) this.costNanos += Number(costNanos);
    if (providerCostNanos !== null) this.providerCostNanos += Number(providerCostNanos);
    if (charged === null) return;
    if (owed !== null && owed > charged) {
      this.clamped += 1;
      if (mode === 'credit') this.shortfallNanos += Number(owed - charged);
      else this.shortfallTokens += Number(owed - charged);
    }
    if (mode === 'credit') this.chargedNanos += Number(charged);
    else this.chargedTokens += Number(charged);
  }

  time(record: RequestRecord): void {
    const { receivedAt, firstContentAt, lastByteAt, streamed } = record;
    if (record.attempts.length === 0 || lastByteAt === null) return;
    const latencies = streamed ? this.streamed : this.whole;
    latencies.duration ??= new Histogram(FAMILIES.gateway_request_duration_seconds.buckets);
    latencies.duration.observe((lastByteAt - receivedAt) / 1_000);
    const firstAt = firstContentAt ?? (streamed ? null : record.firstByteAt);
    if (firstAt === null || record.condition !== null) return;
    latencies.firstByte ??= new Histogram(FAMILIES.gateway_time_to_first_byte_seconds.buckets);
    latencies.firstByte.observe((firstAt - receivedAt) / 1_000);
    const further = record.chunks - record.openingChunks - 1;
    if (!streamed || further < 1) return;
    this.betweenChunks ??= new Histogram(FAMILIES.gateway_time_between_chunks_seconds.buckets);
    this.betweenChunks.observe((lastByteAt - firstAt) / 1_000 / further);
  }
}

class Latencies {
  firstByte: Histogram | null = null;
  duration: Histogram | null = null;
}
