/** The gateway in a process of its own, in front of one scripted provider, with its memory and handles open to a test. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import { socketPath } from '../../src/admin/socket.ts';
import type { Format } from '../../src/core/endpoints.ts';
import { adminAt, type TestAdmin } from './admin-client.ts';
import { configFileIn, gatewayEnvironment } from './gateway-environment.ts';
import { configText, secretOf } from './scripted-gateway.ts';
import { ScriptedServer } from './upstreams/scripted.ts';
import { UPSTREAM_MODEL } from './upstreams/spoken.ts';

export interface Measurement {
  /** What is in use after a collection, buffers included. */
  readonly heapBytes: number;
  readonly residentBytes: number;
  /** Open connections, of clients and to providers. */
  readonly sockets: number;
  /** That keep the process alive: those of live exchanges. */
  readonly timers: number;
}

export type ChildReport = { readonly kind: 'listening' } | ({ readonly kind: 'measured' } & Measurement);

export class MeasuredGateway implements AsyncDisposable {
  readonly provider: ScriptedServer;
  readonly admin: TestAdmin;
  readonly #child: ChildProcess;
  readonly #folder: string;

  private constructor(provider: ScriptedServer, child: ChildProcess, folder: string) {
    this.provider = provider;
    this.#child = child;
    this.#folder = folder;
    this.admin = adminAt(socketPath(folder));
  }

  /** `format`: in which the provider is asked. */
  static async start(format: Format = 'chat'): Promise<MeasuredGateway> {
    const provider = await ScriptedServer.start();
    const folder = await mkdtemp(join(tmpdir(), 'gateway-streams-'));
    const configFile = configFileIn(folder);
    const config = configText({
      providers: {
        one: {
          kind: 'openai',
          base_url: `http://127.0.0.1:${provider.port}/v1`,
          api_key: secretOf('one'),
          formats: [format],
          // Streams stand still until all of them are there, however long that takes.
          timeouts: { idle: 3_000 },
        },
      },
      targets: [{ provider: 'one', model: UPSTREAM_MODEL }],
    });
    await writeFile(configFile, config);
    const child = fork(join(import.meta.dirname, 'measured-gateway-child.ts'), {
      execArgv: ['--expose-gc'],
      env: { PATH: process.env.PATH, ...gatewayEnvironment(folder), GATEWAY_CONFIG: configFile },
    });
    await once(child, 'message');
    return new MeasuredGateway(provider, child, folder);
  }

  key(): Promise<CreatedKey> {
    return this.admin.createKey({ mode: 'credit', credit: '100000' });
  }

  async measure(): Promise<Measurement> {
    this.#child.send('measure');
    const [report] = (await once(this.#child, 'message')) as [Measurement];
    return report;
  }

  /** Waits for what has no other witness: the end of connections and exchanges inside of the gateway. */
  async measureWhen(wanted: (measurement: Measurement) => boolean): Promise<Measurement> {
    for (const deadlineMs = Date.now() + 120_000; ; await delay(50)) {
      const measurement = await this.measure();
      if (wanted(measurement)) return measurement;
      if (Date.now() > deadlineMs) throw new Error(`it never got there: ${JSON.stringify(measurement)}`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.disconnect();
    await exited;
    await this.provider.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
