/** What is said about models and providers wherever they are shown. */
import type { Model, Provider } from '../../api/models.ts';
import { count, milliseconds, plural } from '../../ui/format.ts';
import { Dot, type Tone } from '../../ui/values.tsx';

const TONES: Readonly<Record<Provider['health'], Tone>> = { ok: 'ok', degraded: 'warn', down: 'bad' };

export function Health({ of }: { of: Provider['health'] }) {
  return <Dot tone={TONES[of]}>{of}</Dot>;
}

export function priceText({ price: { value } }: { price: Pick<Model['price'], 'value'> }): string {
  const { input = 0, output = 0 } = value;
  return input === 0 && output === 0 ? 'free' : `${usd(input)} / ${usd(output)}`;
}

export function usd(value: number): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 6 });
}

const DEFINED_BY: Readonly<Record<Model['defined_by'], string>> = {
  file: 'config file',
  api: 'operators',
  environment: 'environment',
  sandbox: 'sandbox',
};

/** Who has defined a model or a provider. */
export function definedByText({ defined_by }: Pick<Model, 'defined_by'>): string {
  return DEFINED_BY[defined_by];
}

/** Of what is charged, how much is not the provider's. */
export function marginText({ markup }: Pick<Model, 'markup'>): string | null {
  if (markup === null) return null;
  return `${((1 - 1 / markup) * 100).toFixed(1).replace(/\.0$/, '')} %`;
}

type Origin = Pick<Model['context_window'], 'source' | 'from' | 'date'>;

export function sourceText({ source, from, date }: Origin): string {
  if (source === 'assumed') return from === 'unknown' ? 'nobody says' : 'a guess: no source states it';
  return date === null ? from : `${from}, ${date}`;
}

/** Where it comes from is in its title; a guess is marked. */
export function Limit({ of }: { of: Model['context_window'] }) {
  if (of.value === null) return <span className="muted">unknown</span>;
  return (
    <span className="num" title={sourceText(of)}>
      {count(of.value)}
      {of.source === 'assumed' && <span className="muted"> guessed</span>}
    </span>
  );
}

export function restText({ cooling_ms: cooling, credentials_cooling: resting, targets }: Provider): string | null {
  const open = targets.filter(({ circuit }) => circuit !== 'closed').length;
  const keys = Math.max(0, ...targets.map(({ keys_with_open_circuit }) => keys_with_open_circuit));
  const cool = targets.filter(({ cooling_ms }) => cooling_ms > 0).length;
  const reasons = [
    cooling > 0 && `every credential cools down for ${milliseconds(cooling)}`,
    cooling === 0 && resting > 0 && `${plural(resting, 'credential')} rest`,
    open > 0 && `the circuit of ${plural(open, 'target')} is open`,
    cool > 0 && `${plural(cool, 'target')} cool down`,
    keys > 0 && `a target is left alone for ${plural(keys, 'key')}, whose requests it failed`,
  ].filter((reason) => reason !== false);
  return reasons.length === 0 ? null : reasons.join('; ');
}
