/** Loaded into every thread of a gateway under test: while the file that `FAILING_DISK` names exists, no flush succeeds. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { fdatasync, existsSync } = fs;
const marker = process.env.FAILING_DISK ?? '';

function failing(file: number, done: fs.NoParamCallback): void {
  if (existsSync(marker)) done(Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' }));
  else fdatasync(file, done);
}

fs.fdatasync = Object.assign(failing, { __promisify__: fdatasync.__promisify__ });
syncBuiltinESMExports();
