import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { Config } from '../../../src/config/config.ts';
import { Secrets } from '../../../src/config/secrets.ts';
import { watchConfig } from '../../../src/config/watch.ts';
import { type ConfigFolder, configFolder } from './config-fixture.ts';

type Event = { config: Config } | { line: string };

/** The watcher does not keep a process alive by itself, so the test does while it waits. */
function watched(
  context: TestContext,
  folder: ConfigFolder,
  file = folder.file,
  options: { env?: Record<string, string>; inUse?: Config; onLoaded?: () => Promise<void> } = {},
) {
  const events: Event[] = [];
  let wake = (): void => {};
  const push = (event: Event): void => {
    events.push(event);
    wake();
  };
  let inUse: Pick<Config, 'files' | 'secrets'> & Partial<Config> = options.inUse ?? {
    files: [],
    secrets: new Secrets({}),
  };
  const watch = watchConfig({
    file,
    load: async () => {
      const settings = { ...folder.settings, configFile: file, allowExec: true };
      const config = await folder.load({ settings, env: options.env ?? {}, inUse: inUse.source });
      await options.onLoaded?.();
      return config;
    },
    inUse: () => inUse,
    onConfig: (config) => {
      inUse = config;
      push({ config });
    },
    onProblems: (lines) => {
      for (const line of lines) push({ line });
    },
    intervalMs: 5,
    execRefreshMs: 5,
  });
  const alive = setInterval(() => {}, 1000);
  context.after(() => {
    clearInterval(alive);
    watch.close();
  });
  return {
    close: () => watch.close(),
    count: () => events.length,
    async next(): Promise<Event> {
      while (events.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const event = events.shift();
      assert.ok(event);
      return event;
    },
    /** Skips what a half-written file may have caused on the way. */
    async until(accept: (event: Event) => boolean): Promise<void> {
      while (!accept(await this.next()));
    },
  };
}

const holds = (wanted: Config['holds']) => (event: Event) => 'config' in event && event.config.holds === wanted;
const reports = (pattern: RegExp) => (event: Event) => 'line' in event && pattern.test(event.line);

describe('config watch', () => {
  test('a change takes effect, and so does the next', async (context) => {
    const folder = await configFolder();
    await folder.write('holds: full');
    const watch = watched(context, folder);
    await folder.write('holds: elastic');
    await watch.until(holds('elastic'));
    await folder.write('holds: full');
    await watch.until(holds('full'));
  });

  test('a file beside it that is written all the time does not hold up a change', async (context) => {
    const folder = await configFolder();
    await folder.write('holds: full');
    const busy = join(dirname(folder.file), 'gateway.db-wal');
    await writeFile(busy, '');
    const watch = watched(context, folder);
    // More often than the watch waits for silence.
    const writing = setInterval(() => appendFileSync(busy, 'x'), 1);
    try {
      await folder.write('holds: elastic');
      await watch.until(holds('elastic'));
    } finally {
      clearInterval(writing);
    }
  });

  test('a broken file is reported line by line, and a repaired one takes effect', async (context) => {
    const folder = await configFolder();
    await folder.write('holds: full');
    const watch = watched(context, folder);
    await folder.write('holds: half');
    await watch.until(reports(/gateway\.yaml: holds: must be one of full, elastic$/));
    await folder.write('holds: elastic');
    await watch.until(holds('elastic'));
  });

  test('a file that is replaced, as editors do, is still followed', async (context) => {
    const folder = await configFolder();
    await folder.write('holds: full');
    const watch = watched(context, folder);
    for (const wanted of ['elastic', 'full', 'elastic'] as const) {
      await writeFile(`${folder.file}.swap`, `holds: ${wanted}`);
      await rename(`${folder.file}.swap`, folder.file);
      await watch.until(holds(wanted));
    }
  });

  test('a file that disappears is reported and changes nothing; when it is back it takes effect', async (context) => {
    const folder = await configFolder();
    await folder.write('holds: full');
    const watch = watched(context, folder, folder.file, { inUse: await folder.load() });
    await rm(folder.file);
    await watch.until(reports(/does not exist any more; the configuration in use stays/));
    await folder.write('holds: elastic');
    await watch.until(holds('elastic'));
  });

  test('a file that is emptied is reported and changes nothing; one that says that it has no content is taken', async (context) => {
    const folder = await configFolder();
    await folder.write('holds: full');
    const watch = watched(context, folder, folder.file, { inUse: await folder.load() });
    for (const text of ['', '# nothing yet\n', 'null\n']) {
      await folder.write(text);
      const event = await watch.next();
      assert.ok(reports(/gateway\.yaml: is empty; the configuration in use stays: write \{\} where/)(event), text);
    }
    await folder.write('{}');
    await watch.until(holds('elastic'));
  });

  test('a file that is gone stays refused when something else changes', async (context) => {
    const folder = await configFolder();
    const secret = join(dirname(folder.file), 'openai.key');
    await writeFile(secret, 'sk-first');
    await folder.write(`providers: { openai: { api_key: '\${file:${secret}}' } }`);
    const watch = watched(context, folder, folder.file, { inUse: await folder.load() });
    await rm(folder.file);
    assert.ok(reports(/does not exist any more/)(await watch.next()));
    await writeFile(`${secret}.new`, 'sk-second');
    await rename(`${secret}.new`, secret);
    assert.ok(reports(/does not exist any more/)(await watch.next()));
  });

  test('where nothing is in use that a file says, an empty one changes nothing and is not refused', async (context) => {
    const folder = await configFolder();
    const secret = join(dirname(folder.file), 'openai.key');
    await writeFile(secret, 'sk-first');
    await folder.write('# the defaults\n');
    const env = { OPENAI_API_KEY_FILE: secret };
    const watch = watched(context, folder, folder.file, { env, inUse: await folder.load({ env }) });
    await writeFile(`${secret}.new`, 'sk-second');
    await rename(`${secret}.new`, secret);
    const event = await watch.next();
    assert.ok('config' in event);
    assert.equal(event.config.catalog.providers.get('openai')?.apiKeys[0], 'sk-second');
  });

  test('a file that appears later takes effect', async (context) => {
    const folder = await configFolder();
    const watch = watched(context, folder);
    await folder.write('holds: elastic');
    await watch.until(holds('elastic'));
  });

  test('a link is followed to where the file really is', async (context) => {
    const folder = await configFolder();
    await mkdir(join(dirname(folder.file), 'real'));
    const real = join(dirname(folder.file), 'real', 'settings.yaml');
    await writeFile(real, 'holds: full');
    await symlink(real, folder.file);
    const watch = watched(context, folder);
    await writeFile(real, 'holds: elastic');
    await watch.until(holds('elastic'));
  });

  test('other files of the folder, and the same content again, cause nothing', async (context) => {
    const folder = await configFolder();
    await folder.write('holds: full');
    const watch = watched(context, folder);
    await writeFile(join(dirname(folder.file), 'other.yaml'), 'x');
    await writeFile(`${folder.file}.swap`, 'holds: full');
    await rename(`${folder.file}.swap`, folder.file);
    await writeFile(`${folder.file}.swap`, 'holds: elastic');
    await rename(`${folder.file}.swap`, folder.file);
    const first = await watch.next();
    assert.ok('config' in first && first.config.holds === 'elastic');
  });

  test('after close nothing is reported', async (context) => {
    const folder = await configFolder();
    const closed = watched(context, folder);
    const open = watched(context, folder);
    closed.close();
    await folder.write('holds: elastic');
    await open.until(holds('elastic'));
    assert.equal(closed.count(), 0);
  });

  test('a folder that does not exist yet is not an error, and a file that appears in it takes effect', async (context) => {
    const folder = await configFolder();
    const file = join(dirname(folder.file), 'later', 'gateway.yaml');
    const watch = watched(context, folder, file);
    await mkdir(dirname(file));
    await writeFile(file, 'holds: elastic');
    await watch.until(holds('elastic'));
  });

  const apiKey = (wanted: string) => (event: Event) =>
    'config' in event && event.config.catalog.providers.get('openai')?.apiKeys[0] === wanted;

  test('a secret in a file is rotated without a restart; one that vanishes stays in use, and is named', async (context) => {
    const folder = await configFolder();
    const secret = join(dirname(folder.file), 'openai.key');
    await writeFile(secret, 'sk-first\n');
    await folder.write(`providers: { openai: { api_key: '\${file:${secret}}' } }`);
    const watch = watched(context, folder, folder.file, { inUse: await folder.load() });
    await writeFile(`${secret}.new`, 'sk-second\n');
    await rename(`${secret}.new`, secret);
    await watch.until(apiKey('sk-second'));
    await rm(secret);
    const line = `gateway.yaml: providers.openai.api_key: the file ${secret} does not exist`;
    await watch.until((event) => 'line' in event && event.line.endsWith(line));
    assert.equal(watch.count(), 0);
    await writeFile(secret, 'sk-third\n');
    await watch.until(apiKey('sk-third'));
  });

  test('a secret that changes again while the configuration is loaded is not missed', async (context) => {
    const folder = await configFolder();
    const secret = join(dirname(folder.file), 'openai.key');
    const rotate = async (value: string): Promise<void> => {
      await writeFile(`${secret}.new`, value);
      await rename(`${secret}.new`, secret);
    };
    await rotate('sk-first');
    await folder.write(`providers: { openai: { api_key: '\${file:${secret}}' } }`);
    let loads = 0;
    const onLoaded = async (): Promise<void> => {
      loads += 1;
      if (loads === 1) await rotate('sk-third');
    };
    const watch = watched(context, folder, folder.file, { inUse: await folder.load(), onLoaded });
    await rotate('sk-second');
    await watch.until(apiKey('sk-second'));
    await watch.until(apiKey('sk-third'));
  });

  test('the same for the file of a variable, without a config file', async (context) => {
    const folder = await configFolder();
    const secret = join(dirname(folder.file), 'openai.key');
    await writeFile(secret, 'sk-first');
    const env = { OPENAI_API_KEY_FILE: secret };
    const watch = watched(context, folder, folder.file, { env, inUse: await folder.load({ env }) });
    await writeFile(secret, 'sk-second');
    await watch.until(apiKey('sk-second'));
    await rm(secret);
    await watch.until(reports(/^OPENAI_API_KEY_FILE: the file .*openai\.key does not exist$/));
    await writeFile(secret, 'sk-third');
    await watch.until(apiKey('sk-third'));
  });

  test('a file that a refused configuration named repairs it when it appears', async (context) => {
    const folder = await configFolder();
    await folder.write('holds: full');
    const watch = watched(context, folder);
    const secret = join(dirname(folder.file), 'later.key');
    await folder.write(`providers: { openai: { api_key: '\${file:${secret}}' } }`);
    await watch.until(reports(/later\.key does not exist/));
    await writeFile(secret, 'sk-later');
    await watch.until(apiKey('sk-later'));
  });

  test('a command runs again by itself, and only a new output is taken into use', async (context) => {
    const folder = await configFolder();
    const secret = join(dirname(folder.file), 'openai.key');
    await writeFile(secret, 'sk-first');
    await folder.write(`providers: { openai: { api_key: '\${exec:cat ${secret}}' } }`);
    const inUse = await folder.load({ settings: { ...folder.settings, allowExec: true } });
    const watch = watched(context, folder, folder.file, { inUse });
    await writeFile(`${secret}.new`, 'sk-second');
    await rename(`${secret}.new`, secret);
    let first = await watch.next();
    // Of a command that ran while this process was held up.
    while (reports(/did not end within 10 seconds$/)(first)) first = await watch.next();
    assert.ok(apiKey('sk-second')(first));
    await rm(secret);
    await watch.until(
      reports(/api_key: \$\{exec:…\}: the command cat ended with exit code 1: run it by hand to see why$/),
    );
  });
});
