/** Somebody else who uses the gateway meanwhile: one small request after the other, each by how long it takes. */
import assert from 'node:assert/strict';

export class Bystander {
  readonly #ask: () => Promise<Response>;
  #longestMs = 0;
  #stopped = false;

  constructor(ask: () => Promise<Response>) {
    this.#ask = ask;
  }

  /** The longest that a request has taken while `attack` ran. */
  async waitDuring(attack: () => Promise<unknown>): Promise<number> {
    this.#stopped = false;
    this.#longestMs = 0;
    const over = (): void => {
      this.#stopped = true;
    };
    await Promise.all([attack().finally(over), this.#run()]);
    return this.#longestMs;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const begun = performance.now();
      const response = await this.#ask();
      await response.arrayBuffer();
      assert.equal(response.status, 200);
      this.#longestMs = Math.max(this.#longestMs, performance.now() - begun);
    }
  }
}
