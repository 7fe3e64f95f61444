/**
 * Runs `gateway` commands one after the other in one process, which spares each of them the start of its own: started by
 * `command` of `admin-fixture.ts`. What a process does at its end is not seen here; tests about that use `gateway`.
 */
import { main } from '../../src/cli.ts';
import type { Ended } from './admin-fixture.ts';

export interface Asked {
  readonly line: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

type Written = (error?: Error | null) => void;

process.on('message', (asked: Asked) => {
  void run(asked).then((ended) => process.send?.(ended));
});

async function run({ line, env }: Asked): Promise<Ended> {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.exitCode = 0;
  const [stdout, stderr] = [collect(process.stdout), collect(process.stderr)];
  try {
    await main(line);
    return { code: Number(process.exitCode), stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    stdout.restore();
    stderr.restore();
    process.exitCode = 0;
    // Every command adds one, for the end of its process.
    process.stdout.removeAllListeners('error');
  }
}

function collect(stream: NodeJS.WriteStream): { text(): string; restore(): void } {
  const { write } = stream;
  const chunks: Buffer[] = [];
  stream.write = (chunk: Uint8Array | string, encoding?: BufferEncoding | Written, written?: Written): boolean => {
    chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : Buffer.from(chunk));
    const told = typeof encoding === 'function' ? encoding : written;
    if (told !== undefined) queueMicrotask(told);
    return true;
  };
  return {
    text: () => Buffer.concat(chunks).toString(),
    restore: () => {
      stream.write = write;
    },
  };
}
