/** The checks of `gateway doctor`: what is wrong, and what to do about it. */
import { Button, Checkbox } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type Schemas } from '../../api/client.ts';
import { plural } from '../../ui/format.ts';
import { Failure, Section } from '../../ui/page.tsx';
import { Prose } from '../../ui/prose.tsx';
import { Dot, type Tone } from '../../ui/values.tsx';
import css from './settings.module.css';

type Report = Schemas['DoctorReport'];
type Check = Report['config'];

const TONES: Readonly<Record<Check['state'], Tone>> = { ok: 'ok', problem: 'bad', skipped: 'neutral' };

export function Doctor() {
  const [probes, setProbes] = useState(false);
  const run = useMutation({ mutationFn: () => call('post', '/admin/v1/doctor', { body: { probes } }) });
  return (
    <Section
      title="Doctor"
      note="Configuration, providers, models and store."
      actions={
        <>
          <Checkbox
            size="xs"
            label="Generate a token at each target (costs a little)"
            checked={probes}
            onChange={(event) => setProbes(event.currentTarget.checked)}
          />
          <Button variant="default" loading={run.isPending} onClick={() => run.mutate()}>
            Run the doctor
          </Button>
        </>
      }
    >
      <Failure error={run.error} />
      {run.data && <Findings report={run.data} />}
    </Section>
  );
}

function Findings({ report }: { report: Report }) {
  const bad = report.models.filter(({ priced, limits, targets }) =>
    [priced, limits, targets].some(({ state }) => state === 'problem'),
  );
  return (
    <div role="status">
      <p className={css.verdict}>
        {report.ok ? (
          <Dot tone="ok">No problems found</Dot>
        ) : (
          <Dot tone="bad">{plural(report.to_do.length, 'thing')} to do</Dot>
        )}
      </p>
      {report.to_do.length > 0 && (
        <ol className={css.todo}>
          {report.to_do.map((line) => (
            <li key={line}>
              <Prose text={line} />
            </li>
          ))}
        </ol>
      )}
      <dl className={css.checks}>
        <Line name="Configuration" check={report.config} />
        <Line name="Data folder" check={report.data_folder} />
        <Line name="Store" check={report.store} />
        <Line name="Open files" check={report.open_files} />
        <Line name="Certificates" check={report.certificates} />
        {report.providers.map((provider) => (
          <ProviderLines key={provider.name} of={provider} />
        ))}
        <Line
          name="Models"
          check={
            bad.length === 0
              ? {
                  state: 'ok',
                  detail: `${plural(report.models.length, 'model')} with a price, limits and a target that answers`,
                }
              : { state: 'problem', detail: bad.map(({ id }) => id).join(', ') }
          }
        />
      </dl>
    </div>
  );
}

function ProviderLines({
  of: { name, reachable, authorised, models, clock, probes },
}: {
  of: Report['providers'][number];
}) {
  return (
    <>
      <Line name={`${name}: can be reached`} check={reachable} />
      <Line name={`${name}: accepts the key`} check={authorised} />
      <Line name={`${name}: has the models`} check={models} />
      <Line name={`${name}: clock`} check={clock} />
      {probes.map((probe) => (
        <Line key={`${probe.model} ${probe.format}`} name={`${name}: ${probe.model} (${probe.format})`} check={probe} />
      ))}
    </>
  );
}

function Line({ name, check: { state, detail } }: { name: string; check: Check }) {
  return (
    <div>
      <dt>
        <Dot tone={TONES[state]}>{name}</Dot>
      </dt>
      <dd>
        <Prose text={detail} />
      </dd>
    </div>
  );
}
