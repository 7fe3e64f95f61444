/** What every page is made of: a title, one sentence that answers its question, and sections below. */
import { Alert, Button } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import { Link } from 'wouter';
import { ApiError } from '../api/client.ts';
import { IconAlert } from './icons.tsx';
import css from './page.module.css';
import { Copy } from './values.tsx';

export function Page({
  title,
  back,
  answer,
  actions,
  wide = false,
  children,
}: {
  title: ReactNode;
  back?: { href: string; label: string };
  answer?: ReactNode;
  actions?: ReactNode;
  wide?: boolean;
  children: ReactNode;
}) {
  const name = typeof title === 'string' ? title : (back?.label ?? '');
  useEffect(() => {
    document.title = name === '' ? 'Model Gateway' : `${name} · Model Gateway`;
  }, [name]);
  return (
    <div className={wide ? css.wide : css.page}>
      {back && (
        <Link href={back.href} className={css.back}>
          ← {back.label}
        </Link>
      )}
      <header className={css.header}>
        <div className={css.heading}>
          <h1 className={css.title}>{title}</h1>
          {answer !== undefined && <p className={css.answer}>{answer}</p>}
        </div>
        {actions && <div className={css.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  );
}

export function Section({
  title,
  note,
  actions,
  children,
}: {
  title?: ReactNode;
  note?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className={css.section}>
      {(title || actions) && (
        <div className={css.sectionHead}>
          <h2 className={css.sectionTitle}>{title}</h2>
          {note && <span className={css.note}>{note}</span>}
          {actions && <div className={css.actions}>{actions}</div>}
        </div>
      )}
      {children}
    </section>
  );
}

/** Name and value pairs, as in the head of an object's page. */
export function Facts({ items }: { items: readonly (readonly [string, ReactNode] | null | false)[] }) {
  return (
    <dl className={css.facts}>
      {items
        .filter((item) => item !== null && item !== false)
        .map(([name, value]) => (
          <div key={name} className={css.fact}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** An empty place teaches: what would be here, and what to do so that it is. */
export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className={css.empty}>
      <h2>{title}</h2>
      {children && <div className={css.emptyText}>{children}</div>}
      {action}
    </div>
  );
}

/** What happened, what to do, and the id under which the gateway's log has it. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  if (error === null || error === undefined) return null;
  const message = error instanceof Error ? error.message : String(error);
  const requestId = error instanceof ApiError ? error.requestId : null;
  return (
    <Alert className={css.failure} icon={<IconAlert />} role="alert">
      <div className={css.failureText}>{message}</div>
      {(requestId !== null || retry) && (
        <div className={css.failureFoot}>
          {requestId !== null && (
            <span>
              Request <code>{requestId}</code> <Copy text={requestId} label="Copy the request id" />
            </span>
          )}
          {retry && (
            <Button variant="default" size="compact-xs" onClick={retry}>
              Try again
            </Button>
          )}
        </div>
      )}
    </Alert>
  );
}

/** The route of the API is not in this gateway. */
export function isMissing(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404 && error.code === 'not_found';
}
