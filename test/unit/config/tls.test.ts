import assert from 'node:assert/strict';
import { chmod, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { TlsFiles, TlsPem } from '../../../src/config/pem.ts';
import { ConfigError } from '../../../src/config/problem.ts';
import { readTls, watchTls } from '../../../src/config/tls.ts';
import { certificateOfLocalhost } from '../../support/certificate.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const identity = certificateOfLocalhost();

async function tlsFolder(cert = identity.cert, key = identity.key): Promise<TlsFiles> {
  const folder = temporaryFolder('gateway-tls');
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  await writeFile(files.cert, cert);
  await writeFile(files.key, key);
  return files;
}

/** At once: nobody sees a part of it. */
async function replaceFile(file: string, content: string): Promise<void> {
  await writeFile(`${file}.new`, content);
  await rename(`${file}.new`, file);
}

function oneLine(line: string): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ConfigError);
    assert.deepEqual(error.problems, [line]);
    return true;
  };
}

describe('the files of a certificate', () => {
  test('are read as they are', async () => {
    assert.deepEqual(await readTls(await tlsFolder()), { cert: identity.cert, key: identity.key });
  });

  test('that are missing are named', async () => {
    const files = await tlsFolder();
    await rm(files.key);
    await assert.rejects(readTls(files), oneLine(`${files.key}: does not exist`));
    await rm(files.cert);
    await assert.rejects(readTls(files), oneLine(`${files.cert}: does not exist`));
  });

  test('that cannot be read are named', {
    skip: process.getuid?.() === 0 && 'root can read everything',
  }, async () => {
    const files = await tlsFolder();
    await chmod(files.key, 0);
    await assert.rejects(readTls(files), oneLine(`${files.key}: cannot be read (EACCES)`));
  });

  test('that are folders are named', async () => {
    const files = await tlsFolder();
    const folder = join(files.cert, '..');
    await assert.rejects(readTls({ ...files, key: folder }), oneLine(`${folder}: cannot be read (EISDIR)`));
  });

  test('that are broken are named, with what is wrong, and without their content', async () => {
    for (const [cert, key, name, wrong] of [
      ['', identity.key, 'cert', 'has no certificate in PEM format'],
      [identity.cert.slice(0, 200), identity.key, 'cert', 'has no certificate in PEM format'],
      [identity.key, identity.key, 'cert', 'has no certificate in PEM format'],
      [identity.cert, '', 'key', 'has no private key in PEM format'],
      [identity.cert, identity.cert, 'key', 'has no private key in PEM format'],
      [
        identity.cert,
        '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n-----END ENCRYPTED PRIVATE KEY-----\n',
        'key',
        'is encrypted: a private key without a passphrase is needed',
      ],
    ] as const) {
      const files = await tlsFolder(cert, key);
      await assert.rejects(readTls(files), oneLine(`${files[name]}: ${wrong}`));
    }
  });

  test('that do not belong together are both named', async () => {
    const files = await tlsFolder(identity.cert, certificateOfLocalhost().key);
    const wrong = `${files.key}: is not the private key of the certificate in ${files.cert}`;
    await assert.rejects(readTls(files), oneLine(wrong));
  });
});

describe('a certificate that changes', () => {
  test('[F36] is told when both files are new; until then, and when they are broken, there is a line and nothing else', async (t) => {
    const files = await tlsFolder();
    const events: (TlsPem | string)[] = [];
    let wake = (): void => {};
    const record = (event: TlsPem | string): void => {
      events.push(event);
      wake();
    };
    const next = async (): Promise<TlsPem | string> => {
      for (;;) {
        const event = events.shift();
        if (event !== undefined) return event;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    };
    const watch = watchTls(
      () => files,
      identity,
      record,
      (lines) => lines.forEach(record),
      5,
    );
    const alive = setInterval(() => {}, 1_000);
    t.after(() => {
      clearInterval(alive);
      watch.close();
    });
    const renewed = certificateOfLocalhost();
    await replaceFile(files.cert, renewed.cert);
    assert.equal(await next(), `${files.key}: is not the private key of the certificate in ${files.cert}`);
    await replaceFile(files.key, renewed.key);
    assert.deepEqual(await next(), { cert: renewed.cert, key: renewed.key });
    await replaceFile(files.cert, 'broken');
    assert.equal(await next(), `${files.cert}: has no certificate in PEM format`);
    await rm(files.cert);
    assert.equal(await next(), `${files.cert}: does not exist`);
    await writeFile(files.cert, identity.cert);
    await writeFile(files.key, identity.key);
    for (;;) {
      const event = await next();
      if (typeof event === 'object') {
        assert.deepEqual(event, { cert: identity.cert, key: identity.key });
        break;
      }
    }
  });
});
