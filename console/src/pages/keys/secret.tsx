/** The moment of truth: the secret, once, and everything that is needed to use it. */
import { Button, CopyButton, Modal } from '@mantine/core';
import { Link } from 'wouter';
import { type CreatedKey, useKey } from '../../api/queries.ts';
import { IconCheck, IconCopy } from '../../ui/icons.tsx';
import { amountText, keyName } from './key-format.tsx';
import css from './secret.module.css';
import { Snippets } from './snippets.tsx';

export function NewSecret({ created, close }: { created: CreatedKey; close: () => void }) {
  const { key: secret, ...key } = created;
  return (
    <Modal
      opened
      onClose={close}
      size={740}
      closeOnClickOutside={false}
      closeOnEscape={false}
      title={`The secret of ${keyName(key)}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <p className={css.text}>Copy it now. It is shown only once: the gateway stores a digest.</p>
      <div className={css.secret}>
        <code data-testid="secret">{secret}</code>
        <CopyButton value={secret}>
          {({ copied, copy }) => (
            <Button
              onClick={copy}
              leftSection={copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
              data-autofocus
            >
              {copied ? 'Copied' : 'Copy'}
            </Button>
          )}
        </CopyButton>
      </div>
      <Snippets baseUrl={key.base_url} origin={key.origin} secret={secret} model={key.models?.[0] ?? 'sandbox/alpha'} />
      <div className={css.foot}>
        <FirstRequest id={key.id} seen={created.requests} />
        <Button variant="default" onClick={close}>
          I have copied it
        </Button>
      </div>
    </Modal>
  );
}

/** Turns into the first request when it comes. */
function FirstRequest({ id, seen }: { id: string; seen: number }) {
  const { data } = useKey(id, 2_000);
  if (data === undefined || data.requests <= seen) {
    return (
      <span className={css.waiting} role="status">
        <span className={css.pulse} /> Waiting for the first request…
      </span>
    );
  }
  return (
    <span className={css.arrived} role="status">
      <IconCheck /> The first request is here: {amountText(data, data.used)} used.{' '}
      <Link href={`/keys/${id}`}>See the key</Link>
    </span>
  );
}
