/** Asks before something that is not easily taken back, and does it. */
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Failure } from './page.tsx';
import { toast } from './toast.tsx';

interface ConfirmProps<Done> {
  readonly title: string;
  /** What follows from it. */
  readonly children: ReactNode;
  readonly verb: string;
  /** What the other button says. */
  readonly keep?: string;
  /** Whether it takes something away. */
  readonly dangerous?: boolean;
  readonly act: () => Promise<Done>;
  /** What is said when it is done; nothing where that is shown elsewhere. */
  readonly done: (result: Done) => string | null;
  readonly close: () => void;
}

export function Confirm<Done>(props: ConfirmProps<Done>) {
  const { title, children, verb, keep = 'Cancel', dangerous = false, act, done, close } = props;
  const doing = useMutation({
    mutationFn: act,
    onSuccess: (result) => {
      const text = done(result);
      if (text !== null) toast(text);
      close();
    },
  });
  return (
    <Modal opened onClose={close} title={title} size={420} closeButtonProps={{ 'aria-label': 'Close' }}>
      <Stack gap="md">
        <Text size="sm" component="div">
          {children}
        </Text>
        <Failure error={doing.error} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={close} data-autofocus={dangerous || undefined}>
            {keep}
          </Button>
          <Button
            {...(dangerous && { color: 'red.8' })}
            loading={doing.isPending}
            onClick={() => doing.mutate()}
            data-autofocus={!dangerous || undefined}
          >
            {verb}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
