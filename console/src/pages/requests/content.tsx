/** Prompt and answer, where the operator captures them. That somebody looked is in the audit trail, so it takes a click. */
import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { useSession } from '../../api/session.tsx';
import { Code } from '../../ui/code.tsx';
import { Failure, isMissing, Section } from '../../ui/page.tsx';

export function Content({ id }: { id: string }) {
  const { mayOperate } = useSession();
  const read = useMutation({
    mutationFn: () => call('get', '/admin/v1/requests/{id}/content', { path: { id } }),
  });
  if (!mayOperate) return null;
  return (
    <Section
      title="Prompt and answer"
      note="Kept only for keys with capturing turned on."
      actions={
        <Button variant="default" size="compact-sm" loading={read.isPending} onClick={() => read.mutate()}>
          Show them
        </Button>
      }
    >
      {isMissing(read.error) ? (
        <p className="muted">The content of this request was not captured.</p>
      ) : (
        <Failure error={read.error} />
      )}
      {read.data && (
        <>
          {read.data.cut && <p className="muted">One of them was longer than a mebibyte and is truncated.</p>}
          <Code label="Request" text={read.data.request} />
          <Code label="Answer" text={read.data.response} />
        </>
      )}
    </Section>
  );
}
