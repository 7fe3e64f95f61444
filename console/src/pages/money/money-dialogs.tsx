/** What is done to a balance: credit that was bought or given, and corrections. Of a key, or of a customer's account. */
import { Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { NO_PARENT } from '../../api/accounts.ts';
import { ApiError, call } from '../../api/client.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { exactCredits, nanosOf } from '../../ui/format.ts';
import { Failure } from '../../ui/page.tsx';
import { toast } from '../../ui/toast.tsx';
import { AccountSelect } from '../accounts/account-select.tsx';

/** Who has the balance. */
export interface Payer {
  readonly kind: 'keys' | 'accounts';
  readonly id: string;
  readonly name: string;
}

/** Sent again after a lost answer, it is still one entry. */
function useEntryId(prefix: string): string {
  const [id] = useState(() => `${prefix}_${crypto.randomUUID().replaceAll('-', '').slice(0, 20)}`);
  return id;
}

interface FieldsProps {
  readonly amount: string;
  readonly setAmount: (text: string) => void;
  readonly error: Error | null;
  readonly description?: string;
  readonly children: ReactNode;
}

function AmountFields({ amount, setAmount, error, description, children }: FieldsProps) {
  const field = error instanceof ApiError ? error.field : null;
  return (
    <>
      <TextInput
        label="Amount"
        description={description}
        inputMode="decimal"
        data-autofocus
        rightSection={<span className="muted">credits</span>}
        rightSectionWidth={64}
        value={amount}
        error={field === 'amount' ? error?.message : undefined}
        onChange={(event) => setAmount(event.currentTarget.value)}
      />
      {children}
      {!['amount', 'note', 'expires_at', 'reason'].includes(field ?? '') && <Failure error={error} />}
    </>
  );
}

function at(error: Error | null, name: string): string | undefined {
  return error instanceof ApiError && error.field === name ? error.message : undefined;
}

/** Without `to`, the customer is chosen. */
export function AddCredit({ to = null, close }: { to?: Payer | null; close: () => void }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const [amount, setAmount] = useState('10');
  const [note, setNote] = useState('');
  const [expires, setExpires] = useState('');
  const entryId = useEntryId('credit');
  const add = useMutation({
    mutationFn: async () => {
      const options = {
        path: { id: to?.id ?? chosen ?? '' },
        body: {
          amount: amount.trim(),
          entry_id: entryId,
          ...(note.trim() !== '' && { note: note.trim() }),
          ...(expires !== '' && { expires_at: expires }),
        },
      };
      await (to?.kind === 'keys'
        ? call('post', '/admin/v1/keys/{id}/credit', options)
        : call('post', '/admin/v1/accounts/{id}/credit', options));
    },
    onSuccess: () => {
      toast('The credit was added');
      close();
    },
  });
  return (
    <FormDialog
      title={`Add credit to ${to?.name ?? 'a customer'}`}
      verb="Add credit"
      close={close}
      busy={add.isPending}
      submit={add.mutate}
    >
      {to === null && (
        <AccountSelect
          label="Customer"
          placeholder="Name or id"
          allowDeselect={false}
          filters={{ parent: NO_PARENT }}
          value={chosen}
          onChange={setChosen}
        />
      )}
      <AmountFields amount={amount} setAmount={setAmount} error={add.error}>
        <TextInput
          label="Note"
          description="For whoever reads the statement."
          placeholder="Invoice 2026-114"
          value={note}
          error={at(add.error, 'note')}
          onChange={(event) => setNote(event.currentTarget.value)}
        />
        <TextInput
          label="Expires"
          description="Credit that is given and not bought: it is spent first, and what is left of it expires. Empty: never."
          type="date"
          value={expires}
          error={at(add.error, 'expires_at')}
          onChange={(event) => setExpires(event.currentTarget.value)}
        />
      </AmountFields>
    </FormDialog>
  );
}

export function Correct({ of: { kind, id, name }, close }: { of: Payer; close: () => void }) {
  const [amount, setAmount] = useState('');
  const [reason, setReason] = useState('');
  const entryId = useEntryId('correction');
  const correct = useMutation({
    mutationFn: () => {
      const body = { amount: amount.trim(), reason: reason.trim(), entry_id: entryId };
      return kind === 'keys'
        ? call('post', '/admin/v1/keys/{id}/corrections', { path: { id }, body })
        : call('post', '/admin/v1/accounts/{id}/corrections', { path: { id }, body });
    },
    onSuccess: ({ balance }) => {
      toast(`The balance is ${exactCredits(nanosOf(balance))} credits now`);
      close();
    },
  });
  return (
    <FormDialog
      title={`Correct the balance of ${name}`}
      verb="Correct it"
      close={close}
      busy={correct.isPending}
      submit={correct.mutate}
    >
      <Text size="sm">
        An entry of its own: nothing that was booked is changed. To give a request’s charge back, refund the request.
      </Text>
      <AmountFields
        amount={amount}
        setAmount={setAmount}
        error={correct.error}
        description="With a minus to take credits away, as far as none of them is held."
      >
        <TextInput
          label="Reason"
          description="For whoever reads the statement."
          value={reason}
          error={at(correct.error, 'reason')}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
      </AmountFields>
    </FormDialog>
  );
}
