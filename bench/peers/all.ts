import type { Adapter } from '../peer.ts';
import { bare, bareAgain, bareParse } from './bare.ts';
import { direct } from './direct.ts';
import { floor } from './floor.ts';
import {
  gateway,
  gatewayAgain,
  gatewayGrown,
  gatewayObserved,
  gatewayOnPostgres,
  gatewaySilent,
  gatewaySilentAgain,
  gatewayTraced,
  gatewayTree,
  gatewayTreeOnPostgres,
} from './gateway.ts';
import { nginx } from './nginx.ts';
import { agentgateway, bifrost, litellm } from './others.ts';
import { portkey } from './portkey.ts';

/** In the order of the tables. A new peer is a new adapter and a place here. */
export const ADAPTERS: readonly Adapter[] = [
  direct,
  nginx,
  bare,
  bareAgain,
  bareParse,
  floor,
  gateway,
  gatewayAgain,
  gatewayOnPostgres,
  gatewayTreeOnPostgres,
  gatewayTree,
  gatewayGrown,
  gatewaySilent,
  gatewaySilentAgain,
  gatewayObserved,
  gatewayTraced,
  portkey,
  litellm,
  bifrost,
  agentgateway,
];
