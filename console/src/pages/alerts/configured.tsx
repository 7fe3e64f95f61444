/** What the config file sets up for alerts, and what of the rest it would take. */
import type { ReactNode } from 'react';
import type { Schemas } from '../../api/client.ts';
import { Code } from '../../ui/code.tsx';
import { plural } from '../../ui/format.ts';
import { Facts, Section } from '../../ui/page.tsx';
import css from './alerts.module.css';

type Receivers = Schemas['AlertReceiverList'];

const SNIPPETS = {
  alerts: 'alerts: {}',
  slack: `alerts:
  slack:
    - name: ops
      url: \${SLACK_WEBHOOK_URL} # the incoming webhook of a channel`,
  email: `alerts:
  smtp:
    host: smtp.example.com
    user: gateway
    password: \${SMTP_PASSWORD}
    from: gateway@example.com
  email:
    - name: on-call
      to: ops@example.com`,
  webhook: `alerts:
  webhooks:
    - name: ops
      url: https://hooks.example.com/gateway
      secret: \${ALERT_SECRET}`,
  command: `alerts:
  command: [/usr/local/bin/page-me, --team, gateway] # needs GATEWAY_ALLOW_EXEC=on`,
} as const;

export function Configured({ receivers }: { receivers: Receivers }) {
  const { enabled, data, smtp, levels, credits_left, tokens_left } = receivers;
  const own = (kind: Schemas['AlertReceiver']['kind']): number =>
    data.filter((one) => one.account === null && one.kind === kind).length;
  const counted = (kind: keyof typeof SNIPPETS & Schemas['AlertReceiver']['kind'], noun: string): ReactNode =>
    own(kind) > 0 ? plural(own(kind), noun) : <Missing of={kind} />;
  const command = own('command') > 0 ? 'set' : <Missing of="command" />;
  const mail =
    smtp === null ? (
      <Missing of="email" />
    ) : (
      `${plural(own('email'), 'address', 'addresses')}, by ${smtp.host}:${smtp.port} (TLS: ${smtp.tls}) from ${smtp.from}`
    );
  return (
    <Section title="What is configured" note="In the section alerts of the config file.">
      {enabled ? (
        <Facts
          items={[
            ['Slack', counted('slack', 'channel')],
            ['E-mail', mail],
            ['Webhooks', counted('webhook', 'webhook')],
            ['Command', command],
            ['Told at', levelText(levels, credits_left, tokens_left)],
          ]}
        />
      ) : (
        <Missing of="alerts" />
      )}
    </Section>
  );
}

function levelText(levels: readonly number[], credits: readonly number[], tokens: readonly number[]): string {
  const used = levels.length === 0 ? [] : [`${levels.toSorted((a, b) => a - b).join(', ')} % used`];
  const left = [
    ...credits.map((amount) => `${amount} credits left`),
    ...tokens.map((amount) => `${amount} tokens left`),
  ];
  return [...used, ...left].join(', ') || 'no level';
}

function Missing({ of }: { of: keyof typeof SNIPPETS }) {
  return (
    <details className={css.missing}>
      <summary>not set up; how?</summary>
      <Code label={`For gateway.yaml: ${of}`} text={SNIPPETS[of]} />
    </details>
  );
}
