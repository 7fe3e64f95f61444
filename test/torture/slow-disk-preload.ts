/** Loaded into a gateway by `--import`: every flush of its log takes this much longer, as on a disk that others use too. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const delayMs = Number(process.env.TORTURE_DISK_MS ?? '0');
const { fdatasync } = fs;

if (delayMs > 0) {
  const slow = (file: number, done: fs.NoParamCallback): void => {
    setTimeout(() => fdatasync(file, done), delayMs);
  };
  Object.assign(fs, { fdatasync: slow });
  syncBuiltinESMExports();
}
