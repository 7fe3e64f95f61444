/**
 * `npm run fuzz [-- --seconds 60] [--from N | --seed N]`: the differential tests of the lean transport for the given time,
 * with seeds that were never tried before or, as in CI, with those from N on; with `--seed`, that one alone. A
 * disagreement ends it with exit code 1, after the seed that shows it again.
 */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { clientDifferential } from '../unit/transport/client/differential.ts';
import { serverDifferential } from '../unit/transport/server/differential.ts';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, from: { type: 'string' }, seed: { type: 'string' } },
});
const seconds = Number(values.seconds);
const first = Number(values.seed ?? values.from ?? randomInt(2 ** 30));
if (!(seconds > 0) || !Number.isSafeInteger(first)) {
  process.stderr.write('expected --seconds with a positive number, and --from or --seed with a whole one\n');
  process.exit(2);
}

/** Small enough that the time is kept to, large enough that the counts mean something. */
const RUNS = 300;
const DIFFERENTIALS = { server: serverDifferential, client: clientDifferential } as const;

const endMs = performance.now() + seconds * 1_000;
process.stdout.write(`seeds from ${first} on\n`);
let rounds = 0;
do {
  const seed = first + rounds;
  for (const [name, differential] of Object.entries(DIFFERENTIALS)) {
    try {
      await differential(seed, RUNS);
    } catch (error) {
      console.error(error);
      process.stderr.write(`the ${name} disagrees: npm run fuzz -- --seed ${seed} shows it again\n`);
      process.exit(1);
    }
  }
  rounds += 1;
} while (values.seed === undefined && performance.now() < endMs);
process.stdout.write(`${rounds} seeds, ${rounds * RUNS} runs of each: no disagreement\n`);
process.exit(0);
