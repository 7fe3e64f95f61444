/** Gives back what a request was charged, to whoever paid. */
import { Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, call } from '../../api/client.ts';
import type { LoggedRequest } from '../../api/requests.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { exactCredits, nanosOf } from '../../ui/format.ts';
import { Failure } from '../../ui/page.tsx';
import { toast } from '../../ui/toast.tsx';

export function Refund({ of: request, left, close }: { of: LoggedRequest; left: number; close: () => void }) {
  const [amount, setAmount] = useState('');
  const [reason, setReason] = useState('');
  // Sent again after a lost answer, it is still one refund.
  const [entryId] = useState(() => `refund_${crypto.randomUUID().replaceAll('-', '').slice(0, 20)}`);
  const refund = useMutation({
    mutationFn: () =>
      call('post', '/admin/v1/requests/{id}/refund', {
        path: { id: request.id },
        body: { reason: reason.trim(), entry_id: entryId, ...(amount.trim() !== '' && { amount: amount.trim() }) },
      }),
    onSuccess: (done) => {
      toast(`${exactCredits(nanosOf(done.amount))} credits refunded`);
      close();
    },
  });
  const field = refund.error instanceof ApiError ? refund.error.field : null;
  return (
    <FormDialog title="Refund this request" verb="Refund" close={close} busy={refund.isPending} submit={refund.mutate}>
      <Text size="sm">
        It was charged {exactCredits(BigInt(request.charged ?? '0'))} credits, of which {exactCredits(nanosOf(left))}{' '}
        can be refunded. Whoever paid has them back at once; what was used stays as it was.
      </Text>
      <TextInput
        label="Amount"
        placeholder="the rest of the charge"
        inputMode="decimal"
        rightSection={<span className="muted">credits</span>}
        rightSectionWidth={64}
        value={amount}
        error={field === 'amount' ? refund.error?.message : undefined}
        onChange={(event) => setAmount(event.currentTarget.value)}
      />
      <TextInput
        label="Reason"
        description="For whoever reads the statement."
        data-autofocus
        value={reason}
        error={field === 'reason' ? refund.error?.message : undefined}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
      {field !== 'amount' && field !== 'reason' && <Failure error={refund.error} />}
    </FormDialog>
  );
}
