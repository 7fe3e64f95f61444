import { after, before } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { type Sandbox, startSandbox } from '../../../src/sandbox/server.ts';

export interface Started {
  readonly sandbox: Sandbox;
  readonly openai: OpenAI;
  readonly anthropic: Anthropic;
  post(path: string, body: unknown, signal?: AbortSignal): Promise<Response>;
}

/** A sandbox for the tests of one file, with the official clients pointed at it. */
export function useSandbox(): Started {
  let sandbox: Sandbox | undefined;
  const started = () => {
    if (sandbox === undefined) throw new Error('the sandbox has not started');
    return sandbox;
  };
  before(async () => {
    sandbox = await startSandbox();
  });
  after(() => sandbox?.close());
  return {
    get sandbox() {
      return started();
    },
    get openai() {
      return new OpenAI({ apiKey: 'any', baseURL: `${started().url}/v1`, maxRetries: 0 });
    },
    get anthropic() {
      return new Anthropic({ apiKey: 'any', baseURL: started().url, maxRetries: 0 });
    },
    post: (path, body, signal) =>
      fetch(started().url + path, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
        ...(signal === undefined ? {} : { signal }),
      }),
  };
}

const NOT_CONTENT: ReadonlySet<string> = new Set([
  'id',
  'call_id',
  'created',
  'created_at',
  'completed_at',
  'signature',
  'encrypted_content',
  'request_id',
  '_request_id',
  'parsed',
  'parsed_output',
  'parsed_arguments',
]);

/** The value without ids, times and what the client's stream reader adds of its own. */
export function content(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (name, entry) => (NOT_CONTENT.has(name) ? undefined : entry)));
}

/** The JSON of every `data:` line but `[DONE]`. */
export function dataOf(stream: string): Record<string, unknown>[] {
  return stream
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)));
}

export const WEATHER = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city', 'days'],
} as const;
