import { Button, Group } from '@mantine/core';

/** The end of a form in a dialog. */
export function FormButtons({ close, verb, busy }: { close: () => void; verb: string; busy: boolean }) {
  return (
    <Group justify="flex-end" gap="xs">
      <Button variant="default" onClick={close}>
        Cancel
      </Button>
      <Button type="submit" loading={busy}>
        {verb}
      </Button>
    </Group>
  );
}
