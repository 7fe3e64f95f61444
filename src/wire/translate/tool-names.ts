/**
 * Tool names upstream. Formats differ in what a name may be and only the responses format has namespaces, so a
 * tool may be called by another name upstream; the answer's calls are mapped back to the client's own tool.
 */
import { hash } from 'node:crypto';
import type { Format } from '../../core/endpoints.ts';
import type { ToolRef, Turn } from './turn.ts';

export interface ToolNames {
  /** The name of the client's tool upstream. */
  out(tool: ToolRef): string;
  /** The client's tool behind a name upstream; an unknown name is taken as a function's. */
  back(name: string): ToolRef;
}

const NAME_LENGTH_MAX: Readonly<Record<Format, number>> = { chat: 64, responses: 64, messages: 128 };
const DIGEST_LENGTH = 8;

/** For a target of the client's own format. */
export const sameToolNames: ToolNames = {
  out: (tool) => tool.name,
  back: (name) => ({ kind: 'function', name }),
};

/** Tools of one identity are one tool. */
export function identityOf({ namespace = '', name }: Pick<ToolRef, 'namespace' | 'name'>): string {
  return `${namespace}\n${name}`;
}

export function toolNames(turn: Turn, to: Format): ToolNames {
  if (turn.origin === to) return sameToolNames;
  const outward = new Map<string, string>();
  const backward = new Map<string, ToolRef>();
  const names: ToolNames = {
    out(tool) {
      const identity = identityOf(tool);
      const known = outward.get(identity);
      if (known !== undefined) return known;
      const full = tool.namespace === undefined ? tool.name : `${tool.namespace}__${tool.name}`;
      let name = full.replace(/[^a-zA-Z0-9_-]/g, '_');
      if (name.length > NAME_LENGTH_MAX[to] || backward.has(name)) {
        const digest = hash('sha256', identity, 'hex').slice(0, DIGEST_LENGTH);
        name = `${name.slice(0, NAME_LENGTH_MAX[to] - DIGEST_LENGTH - 1)}_${digest}`;
      }
      outward.set(identity, name);
      backward.set(name, { kind: tool.kind, name: tool.name, namespace: tool.namespace });
      return name;
    },
    back: (name) => backward.get(name) ?? { kind: 'function', name },
  };
  for (const tool of turn.tools) if (tool.kind !== 'foreign') names.out(tool);
  return names;
}
