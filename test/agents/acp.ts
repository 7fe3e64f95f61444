/**
 * Goes on with a session of an agent as editors do, by the Agent Client Protocol over its standard input and output:
 * `node acp.ts SESSION MODEL PROMPT COMMAND …`. Prints what the editor would show of the last answer, as one JSON line.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
  readonly params?: { readonly update?: { readonly sessionUpdate: string; readonly content?: { text?: string } } };
}

class Editor {
  readonly #agent;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #ids = 0;
  /** The texts of the agent since somebody has last looked. */
  heard: string[] = [];

  constructor(command: string, args: readonly string[]) {
    this.#agent = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: this.#agent.stdout }).on('line', (line) => this.#read(JSON.parse(line)));
    this.#agent.once('exit', (code) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`it ended with ${code}`));
    });
  }

  #read({ id, method, result, error, params }: Message): void {
    const { sessionUpdate, content } = params?.update ?? {};
    if (sessionUpdate === 'agent_message_chunk') this.heard.push(content?.text ?? '');
    if (id === undefined || method !== undefined) return;
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(error.message));
  }

  ask(method: string, params: object): Promise<unknown> {
    const id = this.#ids++;
    const asked = Promise.withResolvers<unknown>();
    this.#waiting.set(id, asked);
    this.#agent.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return asked.promise;
  }
}

const [sessionId = '', modelId = '', text = '', command = '', ...args] = process.argv.slice(2);
const editor = new Editor(command, args);
const session = { sessionId, cwd: process.cwd(), mcpServers: [] };
try {
  await editor.ask('initialize', { protocolVersion: 1, clientCapabilities: {} });
  await editor.ask('session/load', session);
  await editor.ask('session/set_model', { sessionId, modelId });
  await editor.ask('session/prompt', { sessionId, prompt: [{ type: 'text', text }] });
  // The session as it is now; what it was before came with the first time.
  editor.heard = [];
  await editor.ask('session/load', session);
  console.log(JSON.stringify({ type: 'run_result', text: editor.heard.at(-1) }));
} catch (error) {
  console.log(JSON.stringify({ type: 'error', message: error instanceof Error ? error.message : String(error) }));
  process.exitCode = 1;
}
// The agent waits for more; it is of this process's group, which ends with it.
process.exit();
