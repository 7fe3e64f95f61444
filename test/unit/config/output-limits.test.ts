import assert from 'node:assert/strict';
import { test } from 'node:test';
import { usualOutputLimit } from '../../../src/config/output-limits.ts';

test('an output limit that nobody gave is one that the model accepts', () => {
  const limits = {
    'claude-3-haiku-20240307': 4096,
    'claude-3-5-sonnet-20241022': 8192,
    'claude-opus-4-1-20250805': 32_000,
    'anthropic/claude-opus-4': 32_000,
    'claude-opus-4-5': 64_000,
    'anthropic/claude-sonnet-4.5': 64_000,
    'gpt-4': 4096,
    'gpt-4o-mini': 16_384,
    'gpt-4.1-nano': 32_768,
    'openai/gpt-5-mini': 128_000,
    'gpt-5-chat-latest': 16_384,
    'o3-mini': 100_000,
    'gemini-2.5-pro': 65_536,
    'something-else': 4096,
  };
  for (const [model, limit] of Object.entries(limits)) assert.equal(usualOutputLimit(model, null), limit, model);
});

test('it is never above the context window', () => {
  assert.equal(usualOutputLimit('gpt-5', 32_768), 32_768);
  assert.equal(usualOutputLimit('llama3.2:1b', 2048), 2048);
});
