/** A scrape of a gateway, read by a parser of the format. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { createRequire } from 'node:module';
import { socketPath } from '../../src/admin/socket.ts';

/** As `parse-prometheus-text-format` gives it; it has no types of its own. */
interface ParsedFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'COUNTER' | 'GAUGE' | 'HISTOGRAM';
  readonly metrics: readonly {
    readonly labels?: Readonly<Record<string, string>>;
    readonly value?: string;
    readonly count?: string;
    readonly sum?: string;
    readonly buckets?: Readonly<Record<string, string>>;
  }[];
}

const parse = createRequire(import.meta.url)('parse-prometheus-text-format') as (text: string) => ParsedFamily[];

export class Scrape {
  readonly families: readonly ParsedFamily[];
  /** The parser folds the histograms of a family into one whatever their labels; their lines, read one by one, are right. */
  readonly #lines: readonly ParsedFamily[];

  constructor(text: string) {
    this.families = parse(text);
    this.#lines = parse(text.replaceAll(/^# TYPE \S+ histogram\n/gm, ''));
  }

  family(name: string): ParsedFamily {
    const found = this.families.find((family) => family.name === name);
    assert.ok(found, `${name} is not there`);
    return found;
  }

  /** The sum of the samples that have these labels; of a histogram, of their counts. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const shown = this.family(name).type === 'HISTOGRAM' ? `${name}_count` : name;
    const matching = this.#samples(shown).filter((metric) =>
      Object.entries(labels).every(([label, value]) => metric.labels?.[label] === value),
    );
    return matching.reduce((sum, { value }) => sum + Number(value), 0);
  }

  /** The values of a label. */
  values(name: string, label: string): readonly string[] {
    return [...new Set(this.#samples(name).map(({ labels }) => labels?.[label] ?? ''))].sort();
  }

  #samples(name: string): ParsedFamily['metrics'] {
    return this.#lines.filter((family) => family.name === name).flatMap(({ metrics }) => metrics);
  }
}

/** Over the Unix socket, as the operator on the machine. */
export async function scrapeOf(dataDir: string): Promise<Scrape> {
  const text = await new Promise<string>((resolve, reject) => {
    request({ socketPath: socketPath(dataDir), path: '/metrics', agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('end', () =>
        response.statusCode === 200 ? resolve(body) : reject(new Error(`${response.statusCode}: ${body}`)),
      );
    })
      .on('error', reject)
      .end();
  });
  return new Scrape(text);
}
