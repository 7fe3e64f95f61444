/** Keys from a CSV file: all of them or none, and what was made is given once, as a file. */
import { Anchor, Button, FileInput, Group, Modal, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type Schemas } from '../../api/client.ts';
import { csv, saveCsv } from '../../ui/csv.ts';
import { csvRows } from '../../ui/csv-rows.ts';
import { plural } from '../../ui/format.ts';
import { Failure } from '../../ui/page.tsx';

type NewKeys = Schemas['KeyImport']['keys'];

const LISTS: readonly string[] = ['models', 'addresses'];
/** What an export has besides; a new key gets its own. */
const SHOWN: readonly string[] = [
  ...['id', 'status', 'prefix', 'balance', 'used', 'requests', 'input_tokens', 'output_tokens', 'created_at'],
];

/** An empty cell is a setting that is not given. */
function keysIn(text: string): NewKeys {
  return csvRows(text).map(({ cells }) => {
    const given = Object.entries(cells).filter(([name, value]) => value !== '' && !SHOWN.includes(name));
    return Object.fromEntries(
      given.map(([name, value]) => {
        // An export made a text of what a spreadsheet would have run.
        const plain = name === 'key' ? value : value.replace(/^'(?=[=+\-@])/, '');
        const isList = LISTS.includes(name) && plain !== 'all' && plain !== 'any';
        return [name, isList ? plain.split(/[\s,;|]+/) : plain];
      }),
    );
  }) as NewKeys;
}

/** Read when it is chosen: one that is corrected afterwards is chosen again. */
interface ChosenFile {
  readonly name: string;
  readonly text: string;
  /** Each choice is a field of its own, so that the same file can be chosen again. */
  readonly number: number;
}

export function ImportKeys({ close }: { close: () => void }) {
  const [file, setFile] = useState<ChosenFile | null>(null);
  const send = (dry_run: boolean) => async () => {
    if (file === null) throw new Error('Choose a file first.');
    return call('post', '/admin/v1/keys/import', { body: { keys: keysIn(file.text), dry_run } });
  };
  const check = useMutation({ mutationFn: send(true) });
  const make = useMutation({
    mutationFn: send(false),
    onSuccess: ({ data }) =>
      saveCsv(
        'new-keys',
        csv(
          ['id', 'label', 'key'],
          data.map(({ id, label, key }) => [id, label, key]),
        ),
      ),
  });
  const choose = async (chosen: File | null): Promise<void> => {
    if (chosen === null) return;
    check.reset();
    make.reset();
    setFile({ name: chosen.name, text: await chosen.text(), number: (file?.number ?? 0) + 1 });
  };
  return (
    <Modal
      opened
      onClose={close}
      title="Import keys"
      size={480}
      closeOnClickOutside={!make.data}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {make.data ? (
        <Stack gap="md">
          <Text size="sm" role="status">
            <strong>{plural(make.data.keys, 'key')} created.</strong> Your browser has saved them as a file. They are
            stored nowhere else: keep it, and remove it when everybody has their key.
          </Text>
          <Group justify="flex-end">
            <Button onClick={close}>I have the file</Button>
          </Group>
        </Stack>
      ) : (
        <Stack gap="md">
          <Text size="sm">
            A key for every line, or none at all. The first line names the columns: <code>mode</code>,{' '}
            <code>label</code>, <code>account</code>, <code>credit</code>, <code>cap</code>, <code>budget</code>,{' '}
            <code>period</code>, limits as in an export, and <code>key</code> for a text that clients have already.{' '}
            <Anchor size="sm" component="button" type="button" onClick={saveExample}>
              Save an example
            </Anchor>
          </Text>
          <FileInput
            key={file?.number ?? 0}
            label="CSV file"
            description="Choose it again when you have corrected it."
            placeholder={file?.name ?? 'keys.csv'}
            accept=".csv,text/csv"
            onChange={(chosen) => void choose(chosen)}
          />
          <Failure error={make.error ?? check.error} />
          {check.data && (
            <Text size="sm" role="status">
              {plural(check.data.keys, 'key')} can be created.
            </Text>
          )}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            {check.data ? (
              <Button loading={make.isPending} onClick={() => make.mutate()}>
                Create {plural(check.data.keys, 'key')}
              </Button>
            ) : (
              <Button loading={check.isPending} onClick={() => check.mutate()}>
                Check the file
              </Button>
            )}
          </Group>
        </Stack>
      )}
    </Modal>
  );
}

function saveExample(): void {
  saveCsv(
    'keys',
    csv(
      ['mode', 'label', 'account', 'credit', 'cap', 'budget', 'period', 'rpm_limit', 'models', 'expires_at'],
      [
        ['credit', 'first customer', '', '5', '', '', '', '60', 'openai/*', ''],
        ['token_budget', 'an intern', '', '', '', '1000000', 'month', '', '', '2030-01-31'],
      ],
    ),
  );
}
