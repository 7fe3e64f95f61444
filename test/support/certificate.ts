/** A certificate that signs itself, made anew for each run: nothing to expire, and no key to keep. */
import { type SelfSigned, selfSigned } from '../../src/lib/self-signed.ts';

export type Certificate = SelfSigned;

/** For the name `localhost` and no other. */
export function certificateOfLocalhost(): Certificate {
  return certificateOf('localhost');
}

/** For that name, or address, and no other, until the beginning of a year; it is its own authority. */
export function certificateOf(host: string, untilYear = 2120): Certificate {
  return selfSigned({ names: [host], fromMs: Date.UTC(2020), untilMs: Date.UTC(untilYear), authority: true });
}
