/** All of them, in the order in which they are tried. */
import { COUNT_FLOOD } from './attacks/counts.ts';
import { LARGE_FRAMES } from './attacks/frames.ts';
import { IDLE_CONNECTIONS } from './attacks/idle.ts';
import { INLINE_TOOLS } from './attacks/inline-tools.ts';
import { JSON_VALUES } from './attacks/json-values.ts';
import { LONG_WORK } from './attacks/long-work.ts';
import { NEVER_READING } from './attacks/never-reading.ts';
import { PIPELINING } from './attacks/pipelining.ts';
import { TEXT_WORK } from './attacks/text.ts';
import { TINY_CHUNKS } from './attacks/tiny-chunks.ts';
import { UNMETERED_TEXT } from './attacks/unmetered.ts';
import { WEB_SOCKETS } from './attacks/web-sockets.ts';
import { HANGING_WEBHOOKS } from './attacks/webhooks.ts';
import type { Attack } from './trial.ts';

export const ATTACKS: readonly Attack[] = [
  LARGE_FRAMES,
  UNMETERED_TEXT,
  INLINE_TOOLS,
  COUNT_FLOOD,
  TEXT_WORK,
  LONG_WORK,
  PIPELINING,
  TINY_CHUNKS,
  JSON_VALUES,
  NEVER_READING,
  IDLE_CONNECTIONS,
  WEB_SOCKETS,
  HANGING_WEBHOOKS,
];
