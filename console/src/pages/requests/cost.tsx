/** Tokens × price = amount, by class, and what is left of it for the operator. */
import { Button } from '@mantine/core';
import { useState } from 'react';
import type { LoggedRequest, RequestHistory } from '../../api/requests.ts';
import { useSession } from '../../api/session.tsx';
import { count, decimalsOf, exactCredits, nanosOf } from '../../ui/format.ts';
import { Section } from '../../ui/page.tsx';
import { Refund } from './refund.tsx';
import { tokensOf } from './request-format.tsx';
import css from './requests.module.css';

const CLASSES = [
  ['input', 'Input'],
  ['cache_read', 'Read from cache'],
  ['cache_write', 'Written to cache'],
  ['cache_write_1h', 'Written to cache, 1 h'],
  ['output', 'Output'],
] as const;

/** Of a million tokens, in credits; rounded for the eye, the amounts are exact. */
function perMillion(rate: string, per: string): string {
  return exactCredits((BigInt(rate) * 1_000_000n) / BigInt(per));
}

export function Cost({ of: request, history }: { of: LoggedRequest; history: RequestHistory }) {
  const { mayOperate } = useSession();
  const [refunding, setRefunding] = useState(false);
  const { usage, prices, cost_nanos: cost, provider_cost_nanos: provider } = request;
  if (usage === null) {
    return (
      <Section title="Cost">
        <p className="muted">No tokens were used, and nothing is charged.</p>
      </Section>
    );
  }
  const rows = CLASSES.filter(([name]) => usage[name] > 0).map(([name, label]) => ({
    name,
    label,
    tokens: usage[name],
    // Rounded up once, at the very end: a class by itself may have a fraction of a nano.
    amount: prices === null ? null : (BigInt(usage[name]) * BigInt(prices[name])) / BigInt(prices.per),
  }));
  const rest = cost === null ? 0n : BigInt(cost) - rows.reduce((sum, { amount }) => sum + (amount ?? 0n), 0n);
  const shown = [...rows.map(({ amount }) => amount), cost, provider].filter((amount) => amount !== null);
  const decimals = Math.max(...shown.map((amount) => decimalsOf(BigInt(amount))));
  const credits = (nanos: bigint): string => exactCredits(nanos, decimals);
  const { refunded, refundable } = history;
  return (
    <Section
      title="Cost"
      note={usage.source === 'reported' ? 'Tokens as the provider reported them.' : 'Tokens counted by the gateway.'}
      actions={
        mayOperate &&
        refundable > 0 && (
          <Button variant="default" size="compact-sm" onClick={() => setRefunding(true)}>
            Refund
          </Button>
        )
      }
    >
      <table className={css.classes}>
        <thead>
          <tr>
            <th scope="col">Class</th>
            <th scope="col">Tokens</th>
            {prices !== null && <th scope="col">Per million</th>}
            {prices !== null && <th scope="col">Credits</th>}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, label, tokens, amount }) => (
            <tr key={name}>
              <th scope="row">
                {label}
                {name === 'output' && usage.reasoning > 0 && (
                  <span className="muted"> ({count(usage.reasoning)} of it reasoning)</span>
                )}
              </th>
              <td>{count(tokens)}</td>
              {prices !== null && <td>{perMillion(prices[name], prices.per)}</td>}
              {amount !== null && <td>{credits(amount)}</td>}
            </tr>
          ))}
          {prices !== null && rest > BigInt(rows.length) && (
            <tr>
              <th scope="row">Tools, tiers and media</th>
              <td />
              <td />
              <td>{credits(rest)}</td>
            </tr>
          )}
        </tbody>
        <tfoot>
          <Sum name="All" tokens={tokensOf(request)} nanos={cost} priced={prices !== null} text={credits} />
          {refunded > 0 && (
            <Sum
              name="Refunded"
              tokens={null}
              nanos={String(-nanosOf(refunded))}
              priced={prices !== null}
              text={credits}
            />
          )}
          {provider !== null && (
            <Sum name="Provider cost" tokens={null} nanos={provider} priced={prices !== null} text={credits} />
          )}
          {cost !== null && provider !== null && (
            <Sum
              name="Margin"
              tokens={null}
              nanos={String(BigInt(cost) - BigInt(provider))}
              priced={prices !== null}
              text={credits}
            />
          )}
        </tfoot>
      </table>
      {refunding && <Refund of={request} left={refundable} close={() => setRefunding(false)} />}
    </Section>
  );
}

function Sum({
  name,
  tokens,
  nanos,
  priced,
  text,
}: {
  name: string;
  tokens: number | null;
  nanos: string | null;
  priced: boolean;
  text: (nanos: bigint) => string;
}) {
  if (nanos === null && tokens === null) return null;
  const amount = nanos === null ? '' : `${text(BigInt(nanos))}${priced ? '' : ' credits'}`;
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{tokens === null ? (priced ? '' : amount) : count(tokens)}</td>
      {priced && <td />}
      {priced && <td>{amount}</td>}
    </tr>
  );
}
