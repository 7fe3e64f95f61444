/** The provider packages that a config file names. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { configFolder } from '../../unit/config/config-fixture.ts';

describe('packages that cannot be used are reported at the start, each in one line', () => {
  const wrong: readonly (readonly [string, string])[] = [
    [
      "package: '@ai-sdk/absent'",
      'providers.p.package: the package `@ai-sdk/absent` is not installed: npm install @ai-sdk/absent',
    ],
    [
      "package: '@ai-sdk/absent/anthropic'",
      'providers.p.package: the package `@ai-sdk/absent/anthropic` is not installed: npm install @ai-sdk/absent',
    ],
    [
      "package: '@ai-sdk/google', factory: createGogle",
      'providers.p.factory: `@ai-sdk/google` exports no function `createGogle`: it exports createGoogle, createGoogleGenerativeAI',
    ],
    [
      'package: pino',
      'providers.p.factory: is missing: `pino` exports none whose name begins with create; name the one that creates the provider',
    ],
    [
      "package: '@ai-sdk/google', formats: [chat]",
      'providers.p.formats: kind ai-sdk does not support chat: expected one of responses',
    ],
  ];
  for (const [said, line] of wrong) {
    test(said, async () => {
      const folder = await configFolder();
      await folder.write(`providers: { p: { kind: ai-sdk, ${said} } }`);
      await assert.rejects(folder.load(), (error: Error) => {
        assert.equal(error.message.replace(/^.*?gateway\.yaml: /, ''), line);
        return true;
      });
    });
  }

  test('factories are found by convention, and published prices by the name of the package', async () => {
    const folder = await configFolder();
    await folder.write(`
providers:
  g: { kind: ai-sdk, package: '@ai-sdk/google' }
  b: { kind: ai-sdk, package: '@ai-sdk/amazon-bedrock' }
  c: { kind: ai-sdk, package: '@ai-sdk/amazon-bedrock/anthropic' }
models: [{ id: gemini-2.5-flash, provider: g }]
`);
    const { catalog } = await folder.load();
    assert.deepEqual(
      ['g', 'b', 'c'].map((name) => catalog.providers.get(name)?.package?.create.name),
      ['createGoogle', 'createAmazonBedrock', 'createAmazonBedrockAnthropic'],
    );
    assert.ok((catalog.models.get('gemini-2.5-flash')?.contextWindow ?? 0) > 0);
  });
});
