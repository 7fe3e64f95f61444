/** Gemini and Bedrock as a test writes them, part by part. */
import { encodeEventStreamMessage } from '@copilotkit/aimock';
import {
  configText,
  type ScriptedGateway,
  type ScriptedOptions,
  scriptedGateway,
} from '../../support/scripted-gateway.ts';
import { type StartedGateway, startedGateway } from '../../support/started-gateway.ts';
import { type ScriptedCall, ScriptedServer } from '../../support/upstreams/scripted.ts';

/** The API key of the gateway is `sk-one-secret-0123`. */
export function geminiGateway(options: ScriptedOptions = {}): Promise<ScriptedGateway> {
  return packageGateway('@ai-sdk/google', options);
}

export function bedrockGateway(options: ScriptedOptions = {}): Promise<ScriptedGateway> {
  return packageGateway('@ai-sdk/amazon-bedrock', options, { options: { region: 'us-east-1' } });
}

/** A model by this name at Bedrock, for what depends on the name. */
export async function bedrockModel(model: string): Promise<{ server: ScriptedServer; gateway: StartedGateway }> {
  const server = await ScriptedServer.start();
  const provider = {
    kind: 'ai-sdk',
    package: '@ai-sdk/amazon-bedrock',
    base_url: `http://127.0.0.1:${server.port}`,
    api_key: 'k',
    options: { region: 'us-east-1' },
  };
  const config = configText({ providers: { p: provider }, targets: [{ provider: 'p', model }] });
  return { server, gateway: await startedGateway({ config }) };
}

function packageGateway(name: string, options: ScriptedOptions, extra: object = {}): Promise<ScriptedGateway> {
  const provider = { kind: 'ai-sdk', package: name, formats: ['responses'], circuit_breaker: false, ...extra };
  return scriptedGateway({ ...options, provider: { ...provider, ...options.provider } });
}

export interface GeminiUsage {
  readonly promptTokenCount: number;
  readonly candidatesTokenCount: number;
  readonly thoughtsTokenCount?: number;
  readonly cachedContentTokenCount?: number;
}

export function geminiParts(...parts: object[]): string {
  return geminiChunk({ candidates: [{ content: { role: 'model', parts }, index: 0 }] });
}

export function geminiEnd(usage: GeminiUsage | null, finishReason = 'STOP'): string {
  return geminiChunk({
    candidates: [{ content: { role: 'model', parts: [{ text: '' }] }, finishReason, index: 0 }],
    ...(usage ? { usageMetadata: usage } : {}),
  });
}

export function geminiChunk(chunk: object): string {
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

type Frame = readonly [event: string, payload: object];

export function bedrockStream(call: ScriptedCall, frames: readonly Frame[]): void {
  call.streamHead({ 'content-type': 'application/vnd.amazon.eventstream' });
  for (const [event, payload] of frames) call.chunk(encodeEventStreamMessage(event, payload));
  call.finish();
}
