import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_LOG } from '../../../src/core/log.ts';
import type { Documents, StoredDocument } from '../../../src/ledger/port.ts';
import { keepOutputSpeeds } from '../../../src/process/output-speeds.ts';
import { OutputSpeeds } from '../../../src/routing/output-speeds.ts';

const TARGET = { provider: 'one', upstreamModel: 'a-model' };

function store(): Documents & { readonly documents: Map<string, StoredDocument> } {
  const documents = new Map<string, StoredDocument>();
  return {
    documents,
    getDocument: async (name) => documents.get(name) ?? null,
    putDocument: async (name, value) => void documents.set(name, { value, atMs: 0 }),
  };
}

function learned(): OutputSpeeds {
  const speeds = new OutputSpeeds();
  for (let stream = 0; stream < 60; stream++) {
    speeds.note(TARGET, {
      outputTokens: 3_048,
      visibleTokens: 0,
      firstTokens: 2_048,
      sinceAcceptedMs: 10_000,
      sinceHeadersMs: 10_000,
    });
  }
  return speeds;
}

test('[R13] what a gateway has learned of its targets is there for the next start', async () => {
  const documents = store();
  const before = learned();
  await (await keepOutputSpeeds(before, documents, NO_LOG)).stop();
  const after = new OutputSpeeds();
  await (await keepOutputSpeeds(after, documents, NO_LOG)).stop();
  assert.equal(after.bound(TARGET), 200);
});

test('a stored document that is broken, and a store that fails, cost nothing but what was stored', async () => {
  for (const value of ['not JSON', '[]', '{"one/a-model":5}', '{"one/a-model":{"count":"many","total":[null]}}']) {
    const documents = store();
    documents.documents.set('output-speeds', { value, atMs: 0 });
    const speeds = learned();
    await (await keepOutputSpeeds(speeds, documents, NO_LOG)).stop();
    assert.equal(speeds.bound(TARGET), 200, value);
  }
  const failing: Documents = {
    getDocument: () => Promise.reject(new Error('gone')),
    putDocument: () => Promise.reject(new Error('gone')),
  };
  await (await keepOutputSpeeds(learned(), failing, NO_LOG)).stop();
});
