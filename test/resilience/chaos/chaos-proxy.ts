/** A TCP proxy between the gateway and whatever it depends on, which breaks connections when the test says so. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { reset } from '../../../src/sandbox/reset.ts';

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
}

export class ChaosProxy {
  readonly #server: Server;
  readonly #targetPort: number;
  readonly #pairs = new Set<Pair>();
  #loseAnswers = 0;
  #commitsOnly = false;
  #whenLost: () => void = () => {};
  #refuse = false;
  #joined = 0;

  private constructor(targetPort: number) {
    this.#targetPort = targetPort;
    this.#server = createServer((near) => this.#join(near));
  }

  static async start(targetPort: number): Promise<ChaosProxy> {
    const proxy = new ChaosProxy(targetPort);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** How many connections it has let through. */
  get joined(): number {
    return this.#joined;
  }

  /** Resets every connection, in whatever it is doing. New ones are let through. */
  cut(): void {
    for (const { near, far } of [...this.#pairs]) {
      reset(near);
      reset(far);
    }
  }

  /** From now on nothing gets through, as if the other side were gone; until `mend`. */
  sever(): void {
    this.#refuse = true;
    this.cut();
  }

  /** From now on everything gets through. */
  mend(): void {
    this.#refuse = false;
    this.#loseAnswers = 0;
  }

  /**
   * The other side does what it is asked, but its next answer is lost and the connection with it, so many times. Resolves
   * when the last one was.
   */
  loseAnswers(count: number): Promise<void> {
    return this.#lose(count, false);
  }

  /** The same with answers that tell of a commit, and no others. */
  loseCommits(count: number): Promise<void> {
    return this.#lose(count, true);
  }

  #lose(count: number, commits: boolean): Promise<void> {
    this.#commitsOnly = commits;
    this.#loseAnswers = count;
    return new Promise((resolve) => {
      this.#whenLost = resolve;
    });
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #join(near: Socket): void {
    near.on('error', () => {});
    if (this.#refuse) {
      reset(near);
      return;
    }
    this.#joined += 1;
    const far = connect(this.#targetPort, '127.0.0.1');
    far.on('error', () => {});
    const pair = { near, far };
    this.#pairs.add(pair);
    near.setNoDelay(true);
    far.setNoDelay(true);
    near.pipe(far);
    let answers = 0;
    far.on('data', (chunk) => {
      answers += 1;
      // The first ones belong to the greeting: losing them loses no answer to a request.
      if (this.#loseAnswers > 0 && answers > 5 && (!this.#commitsOnly || chunk.includes('COMMIT\0'))) {
        this.#loseAnswers -= 1;
        reset(near);
        reset(far);
        if (this.#loseAnswers === 0) this.#whenLost();
        return;
      }
      if (near.writable && !near.write(chunk)) far.pause();
    });
    near.on('drain', () => far.resume());
    far.on('end', () => near.end());
    const leave = (): void => {
      this.#pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    near.on('close', leave);
    far.on('close', leave);
  }
}
