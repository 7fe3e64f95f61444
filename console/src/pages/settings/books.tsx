/** Whether every balance is the sum of its entries. */
import { Button, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useLastAudit } from '../../api/admin.ts';
import { call } from '../../api/client.ts';
import { Code } from '../../ui/code.tsx';
import { count, plural } from '../../ui/format.ts';
import { Failure, Section } from '../../ui/page.tsx';
import { Dot, Time } from '../../ui/values.tsx';

/** Runs on request as well: it reads every entry of the ledger. */
export function Books() {
  const known = useLastAudit();
  const audit = useMutation({
    mutationFn: () => call('get', '/admin/v1/audit', {}),
    onSuccess: () => known.refetch(),
  });
  const report = known.data?.last;
  const everyHours = known.data?.every_hours ?? null;
  const often = everyHours === null ? '' : ` The gateway does so every ${plural(everyHours, 'hour')}.`;
  return (
    <Section
      title="Audit"
      note={`Recomputes every balance from its entries.${often}`}
      actions={
        <Button variant="default" loading={audit.isPending} onClick={() => audit.mutate()}>
          Run the audit
        </Button>
      }
    >
      <Failure error={audit.error ?? known.error} />
      {report && (
        <Text size="sm">
          <Dot tone={report.ok ? 'ok' : 'bad'}>
            {report.ok ? 'All balances match their entries' : 'Balances do not match their entries'}
          </Dot>
          : {plural(report.keys, 'key')}, {count(report.entries)} entries, {plural(report.live_holds, 'live hold')},{' '}
          {plural(report.flagged, 'charge')} to look at. <Time at={report.at} />
        </Text>
      )}
      {report && report.findings.length > 0 && (
        <Code label={`Findings: ${count(report.finding_count)}`} text={report.findings.join('\n')} />
      )}
    </Section>
  );
}
