/** Ctrl K: every page, account, key, model and request by its name, id or prefix. */
import { Modal, UnstyledButton } from '@mantine/core';
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { useFoundAccounts } from '../api/accounts.ts';
import { useModels } from '../api/models.ts';
import { useFoundKeys } from '../api/queries.ts';
import { modelHref } from '../pages/models/model-href.ts';
import { IconAccounts, IconKeys, IconModels, IconRequests, IconSearch } from '../ui/icons.tsx';
import { usePlaces } from './navigation.ts';
import css from './palette.module.css';

interface Hit {
  readonly href: string;
  readonly label: string;
  readonly detail: string;
  readonly icon: (props: { size?: number }) => React.ReactNode;
}

const HITS_MAX = 12;

export function Palette({ opened, close }: { opened: boolean; close: () => void }) {
  return (
    <Modal.Root
      opened={opened}
      onClose={close}
      padding={0}
      size={560}
      yOffset="14vh"
      transitionProps={{ duration: 0 }}
      returnFocus={false}
    >
      <Modal.Overlay backgroundOpacity={0.4} />
      <Modal.Content aria-label="Search or go to" radius={10}>
        {opened && <Finder close={close} />}
      </Modal.Content>
    </Modal.Root>
  );
}

function Finder({ close }: { close: () => void }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const [, navigate] = useLocation();
  const hits = useHits(text.trim());
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: 'nearest' });
  }, [at]);
  const open = (hit: Hit | undefined): void => {
    if (hit === undefined) return;
    close();
    navigate(hit.href);
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') setAt(Math.min(at + 1, hits.length - 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, 0));
    else if (event.key === 'Enter') open(hits[at]);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <div className={css.field}>
        <IconSearch />
        <input
          ref={takeFocus}
          data-autofocus
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-hits"
          aria-activedescendant={hits.length === 0 ? undefined : `palette-hit-${at}`}
          aria-label="Search pages, accounts, keys and requests"
          placeholder="A page, an account, a key’s name or prefix, a request id…"
          maxLength={200}
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={onKey}
        />
      </div>
      <div id="palette-hits" role="listbox" aria-label="Found" className={css.hits} ref={list}>
        {hits.map((hit, index) => (
          <UnstyledButton
            key={hit.href + hit.label}
            id={`palette-hit-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            className={css.hit}
            onMouseMove={() => setAt(index)}
            onClick={() => open(hit)}
          >
            <hit.icon />
            <span className={css.label}>{hit.label}</span>
            <span className={css.detail}>{hit.detail}</span>
          </UnstyledButton>
        ))}
      </div>
      {hits.length === 0 && <p className={css.none}>Nothing found.</p>}
    </>
  );
}

/**
 * With a transition, the dialog would take the focus some frames after Ctrl K, and the letters typed until then would
 * be lost to the page below. So it opens at once and has the focus before the next key; what had it gets it back.
 */
function takeFocus(input: HTMLInputElement): () => void {
  const before = document.activeElement;
  input.focus();
  return () => {
    if (before instanceof HTMLElement) before.focus({ preventScroll: true });
  };
}

function useHits(text: string): readonly Hit[] {
  // Keys of the same name have a place too.
  const accounts = useFoundAccounts(text, HITS_MAX / 2, text !== '');
  const keys = useFoundKeys(text, HITS_MAX, text !== '');
  const models = useModels();
  const places = usePlaces();
  return useMemo(() => {
    const wanted = text.toLowerCase();
    const fits = (...names: readonly (string | null)[]): boolean =>
      names.some((name) => name?.toLowerCase().includes(wanted) ?? false);
    const pages = places
      .filter(({ label }) => fits(label))
      .map(({ href, label, icon }) => ({
        href,
        label,
        detail: 'Page',
        icon,
      }));
    const request = /^req_[0-9a-z]+$/i.test(text)
      ? [{ href: `/requests/${text}`, label: text, detail: 'Request', icon: IconRequests }]
      : [];
    const payers = (text === '' ? [] : (accounts.data ?? []))
      .filter((account) => fits(account.id, account.name, account.external_id))
      .map(({ id, name, parent, root_name: customer }) => ({
        href: `/accounts/${id}`,
        label: name,
        detail: parent === null ? 'Account' : `Account of ${customer}`,
        icon: IconAccounts,
      }));
    const found = (text === '' ? [] : (keys.data ?? []))
      .filter((key) => fits(key.id, key.label, ...key.prefixes))
      .map((key) => ({
        href: `/keys/${key.id}`,
        label: key.label ?? key.id,
        detail: `${key.prefix}…`,
        icon: IconKeys,
      }));
    const offered = (models.data ?? [])
      .filter((model) => text !== '' && fits(model.id, model.display_name))
      .map(({ id, provider }) => ({ href: modelHref(id), label: id, detail: provider, icon: IconModels }));
    return [...request, ...pages, ...payers, ...found, ...offered].slice(0, HITS_MAX);
  }, [accounts.data, keys.data, models.data, places, text]);
}
