/** One attack on a gateway of its own: what a bystander waits without it and with it, and the bounds that hold for every one. */
import { setTimeout as delay } from 'node:timers/promises';
import type { TestPostgres } from '../support/postgres.ts';
import { INPUT_TOKENS, OUTPUT_TOKENS } from '../support/upstreams/spoken.ts';
import { Arena, type ArenaOptions, CALM_MODEL, PRICE } from './arena.ts';
import { Bystander, type Percentiles, percentiles, type Waits } from './bystander.ts';

export interface Attack {
  readonly name: string;
  /** The faults and rulings that it is about. */
  readonly tags: string;
  settings?(): ArenaOptions['settings'];
  /** Ends when `arena.goesOn` is over. What it finds are faults and figures of the arena. */
  run(arena: Arena): Promise<void>;
}

export interface Trial {
  readonly attack: Attack;
  readonly control: Percentiles;
  readonly attacked: Percentiles;
  readonly peakMb: number | null;
  readonly figures: readonly string[];
  readonly faults: readonly string[];
}

export interface TrialOptions {
  readonly seed: number;
  readonly postgres: TestPostgres | null;
  /** For the control and the attack together. */
  readonly seconds: number;
}

export const MEMORY_MB_MAX = 400;
/** Generous, because the machine is shared: what is looked for is a gateway that stands still. */
const FACTOR_MAX = 20;
const WAIT_MS_MIN = 1_500;
/** Whatever the control was: a machine that is as busy as that still serves others. */
const WAIT_MS_MAX = 5_000;
export const AIM_MS = 250;
const CONTROL_SHARE = 0.25;
const WARM_UP_MS = 1_000;
/** An attack that has not ended by then never will: the gateway is killed. */
const END_WITHIN_MS = 40_000;

export async function tryAttack(attack: Attack, { seed, postgres, seconds }: TrialOptions): Promise<Trial> {
  await using bystander = await Bystander.start();
  const settings = attack.settings?.() ?? {};
  await using attacked = await Arena.start({ seed, postgres, calmPort: bystander.providerPort, settings });
  const key = await attacked.key();
  bystander.ask(attacked.origin, key.key, CALM_MODEL);
  await delay(WARM_UP_MS);
  let { served } = await bystander.report();
  await delay(seconds * CONTROL_SHARE * 1_000);
  const control = await bystander.report();
  served += control.served;

  attacked.attackFor(seconds * (1 - CONTROL_SHARE) * 1_000);
  await runToItsEnd(attack, attacked);
  const ended = bystander.end();
  // A gateway that does not even answer the bystander any more has to be killed before that can come to its end.
  const hangs = setTimeout(() => {
    attacked.fault('the bystander was not answered any more');
    void attacked.kill();
  }, END_WITHIN_MS);
  const during = await ended;
  clearTimeout(hangs);
  served += during.served;
  const { peakMb } = attacked;
  if (attacked.isAlive) {
    await attacked.audit();
    await checkBystander(attacked, key.id, served);
  } else if (!attacked.wasKilled) attacked.fault(`the process ended by itself: ${lastWords(attacked)}`);
  checkBounds(attacked, control, during, peakMb);
  return {
    attack,
    control: percentiles(control),
    attacked: percentiles(during),
    peakMb,
    figures: [...attacked.figures],
    faults: [...attacked.faults],
  };
}

async function runToItsEnd(attack: Attack, arena: Arena): Promise<void> {
  const running = attack.run(arena).catch((error: unknown) => {
    // What it could not do because the process has ended is one fault, which is named elsewhere.
    if (arena.isAlive && !arena.wasKilled)
      arena.fault(`the attack failed: ${error instanceof Error ? (error.stack ?? error.message) : error}`);
  });
  const late = delay(arena.leftMs + END_WITHIN_MS, 'late' as const, { ref: false });
  if ((await Promise.race([running, late])) !== 'late') return;
  arena.fault('the gateway did not come to an end with it');
  await arena.kill();
  await running;
}

function checkBounds(arena: Arena, control: Waits, during: Waits, peakMb: number | null): void {
  if (peakMb !== null && peakMb > MEMORY_MB_MAX) arena.fault(`${peakMb} MB of memory, more than ${MEMORY_MB_MAX}`);
  const bound = Math.min(WAIT_MS_MAX, Math.max(WAIT_MS_MIN, FACTOR_MAX * percentiles(control).p99));
  const { p99 } = percentiles(during);
  if (p99 > bound) arena.fault(`the bystander waited ${p99} ms at p99, more than ${bound}`);
  if (control.faults.length > 0) arena.fault(`the bystander without an attack: ${summed(control.faults)}`);
  if (during.faults.length > 0 && arena.isAlive) arena.fault(`the bystander was not served: ${summed(during.faults)}`);
}

/** Its money is exact, whatever happened beside it. */
async function checkBystander(arena: Arena, keyId: string, served: number): Promise<void> {
  const { used, requests } = await arena.gateway.admin.showKey(keyId);
  const owed = (served * (INPUT_TOKENS * PRICE.input + OUTPUT_TOKENS * PRICE.output)) / 1e6;
  if (Math.abs(used - owed) > 1e-9)
    arena.fault(`the bystander was served ${served} times and charged ${requests}: ${used}`);
}

/** Each with how often it was there. */
export function summed(list: readonly string[]): string {
  const times = new Map<string, number>();
  for (const one of list) times.set(one, (times.get(one) ?? 0) + 1);
  return [...times].map(([one, count]) => `${count} × ${one}`).join(', ');
}

function lastWords({ gateway }: Arena): string {
  const { exitCode, signalCode } = gateway.child;
  const line = gateway
    .output()
    .split('\n')
    .findLast((one) => /FATAL|rror/.test(one));
  return `${exitCode ?? signalCode}${line === undefined ? '' : `, ${line}`}`;
}
