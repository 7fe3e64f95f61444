/** The gateway's own sentences, which are written for a terminal as well: names in code, and commands as links to what they show. */
import type { ReactNode } from 'react';
import { Link } from 'wouter';

/** A command in quotes, or a name in backticks. */
const PART = /"(gateway [^"]+)"|`([^`]+)`/g;

export function Prose({ text }: { text: string }) {
  const parts: ReactNode[] = [];
  let from = 0;
  for (const match of text.matchAll(PART)) {
    const [whole, command, name] = match;
    parts.push(text.slice(from, match.index));
    if (command === undefined) parts.push(<code key={match.index}>{name}</code>);
    else parts.push(<Command key={match.index} line={command} />);
    from = match.index + whole.length;
  }
  return (
    <>
      {parts}
      {text.slice(from)}
    </>
  );
}

interface Place {
  readonly href: string;
  readonly label: string;
}

/** What each command shows is a page here. */
const PLACES: readonly (readonly [RegExp, (...groups: string[]) => Place])[] = [
  [/^gateway keys show (\S+)$/, (id) => ({ href: `/keys/${id}`, label: 'the page of the key' })],
  [/^gateway accounts show (\S+)$/, (id) => ({ href: `/accounts/${id}`, label: 'the page of the account' })],
  [/^gateway requests show (\S+)$/, (id) => ({ href: `/requests/${id}`, label: 'the page of the request' })],
  [/^gateway requests list(.*)$/, (flags = '') => ({ href: requestsHref(flags), label: 'the list of its requests' })],
  [/^gateway audit-trail\b.*$/, () => ({ href: '/settings', label: 'the audit trail' })],
  [/^gateway doctor\b.*$/, () => ({ href: '/settings', label: 'the doctor' })],
  [/^gateway models$/, () => ({ href: '/models', label: 'the models' })],
  [/^gateway alerts\b.*$/, () => ({ href: '/alerts', label: 'the alerts' })],
];

function Command({ line }: { line: string }) {
  for (const [pattern, place] of PLACES) {
    const match = pattern.exec(line);
    if (match === null) continue;
    const { href, label } = place(...match.slice(1));
    return (
      <Link href={href} className="link" title={line}>
        {label}
      </Link>
    );
  }
  return <code>{line}</code>;
}

/** `--provider openai --condition upstream_error` as filters of the page, which have the same names. */
function requestsHref(flags: string): string {
  const filters = [...flags.matchAll(/--(\w+) (\S+)/g)].map(([, name = '', value = '']) => [name, value]);
  return `/requests?${new URLSearchParams(filters)}`;
}
