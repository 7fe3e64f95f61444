/** How a messages target is told to choose its tokens. */
import type { SamplingStyle, Turn } from '../translate/turn.ts';

const TEMPERATURE_MAX = 1;

interface WrittenSampling {
  readonly temperature?: number | undefined;
  readonly top_p?: number | undefined;
  readonly top_k?: number | undefined;
}

export function writeSampling(turn: Turn, style: SamplingStyle, warnings: string[]): WrittenSampling {
  const { temperature, topP: top_p, topK: top_k } = turn.settings;
  const said = { temperature, top_p, top_k };
  if (turn.origin === 'messages') return said;
  if (style === 'none') {
    for (const [name, value] of Object.entries(said)) {
      if (value !== undefined && value !== 1) warnings.push(`${name}: left out, this model takes no sampling settings`);
    }
    return {};
  }
  const both = style === 'one' && temperature !== undefined && top_p !== undefined;
  // The one that is not at its default says what the client wants.
  const kept = both && temperature === 1 && top_p !== 1 ? 'top_p' : 'temperature';
  if (both && temperature !== 1 && top_p !== 1) {
    warnings.push('top_p: left out, this model takes it or temperature, not both');
  }
  return {
    temperature: both && kept === 'top_p' ? undefined : atMost(temperature, warnings),
    top_p: both && kept === 'temperature' ? undefined : top_p,
    top_k,
  };
}

function atMost(temperature: number | undefined, warnings: string[]): number | undefined {
  if (temperature === undefined || temperature <= TEMPERATURE_MAX) return temperature;
  warnings.push(`temperature: ${temperature} is sent as ${TEMPERATURE_MAX}, the most that the messages format takes`);
  return TEMPERATURE_MAX;
}
