/** A form in a dialog: its fields, and the two buttons at its end. */
import { Modal, Stack } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import { FormButtons } from './form-buttons.tsx';

export function FormDialog({
  title,
  verb,
  close,
  busy,
  submit,
  children,
}: {
  title: string;
  verb: string;
  close: () => void;
  busy: boolean;
  submit: () => void;
  children: ReactNode;
}) {
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault();
    submit();
  };
  return (
    <Modal opened onClose={close} title={title} size={480} closeButtonProps={{ 'aria-label': 'Close' }}>
      <form onSubmit={onSubmit} noValidate>
        <Stack gap="md">
          {children}
          <FormButtons close={close} verb={verb} busy={busy} />
        </Stack>
      </form>
    </Modal>
  );
}
