/** Tools of the responses format, in both directions. Namespaces are flattened in the hub and grouped again here. */
import { booleanAt, compact, type JsonObject, objectAt, objectsAt, stringAt } from '../../lib/json.ts';
import { refuse } from '../errors.ts';
import { identityOf, type ToolNames } from '../translate/tool-names.ts';
import { functionDescription, functionSchema, openaiStrict } from '../translate/tools.ts';
import type { ClientTool, ForeignTool, ToolChoice, ToolRef, Turn, TurnTool } from '../translate/turn.ts';

/** Tool types that the client runs to a schema which only this format's models know. */
const BUILT_IN = new Set(['computer', 'computer_use_preview', 'local_shell', 'shell', 'apply_patch']);
export const SEARCH_TOOL = 'tool_search';

/** Whether the provider would run this tool itself. A namespace is only a name for what it holds. */
export function isHosted(tool: JsonObject): boolean {
  const type = stringAt(tool, 'type') ?? 'function';
  if (type === 'function' || type === 'custom' || type === 'namespace') return false;
  if (type === SEARCH_TOOL) return tool.execution !== 'client';
  if (type === 'shell') return (objectAt(tool, 'environment')?.type ?? 'local') !== 'local';
  return !BUILT_IN.has(type);
}

export function readTools(tools: readonly JsonObject[], at: string): readonly TurnTool[] {
  return tools.flatMap((tool, index) => readTool(tool, `${at}[${index}]`));
}

function readTool(tool: JsonObject, at: string): readonly TurnTool[] {
  const type = stringAt(tool, 'type') ?? '';
  const name = stringAt(tool, 'name');
  if (type === 'namespace' && name !== undefined) {
    const namespaceDescription = stringAt(tool, 'description');
    return readTools(objectsAt(tool, 'tools'), `${at}.tools`).map((inner, index) => {
      if (inner.kind === 'foreign') return inner;
      return compact({
        ...inner,
        namespace: name,
        namespaceDescription: index === 0 ? namespaceDescription : undefined,
      });
    });
  }
  const description = stringAt(tool, 'description');
  if (type === 'function' && name !== undefined) {
    const strict = booleanAt(tool, 'strict');
    return [compact({ kind: 'function', name, description, schema: tool.parameters ?? undefined, strict, at })];
  }
  if (type === 'custom' && name !== undefined) {
    return [compact({ kind: 'custom', name, description, grammar: objectAt(tool, 'format'), at })];
  }
  if (type === SEARCH_TOOL && tool.execution === 'client') {
    return [compact({ kind: 'search', name: SEARCH_TOOL, description, schema: tool.parameters ?? undefined, at })];
  }
  return [{ kind: 'foreign', format: 'responses', hosted: isHosted(tool), raw: tool, at }];
}

/** Tools found by a search are repeated in every later request: each counts once. */
export function dedupeTools(tools: readonly TurnTool[]): readonly TurnTool[] {
  const seen = new Set<string>();
  return tools.filter((tool) => {
    if (tool.kind === 'foreign') return true;
    const identity = identityOf(tool);
    if (seen.has(identity)) return false;
    seen.add(identity);
    return true;
  });
}

export function writeTools(
  turn: Turn,
  tools: readonly (ClientTool | ForeignTool)[],
  names: ToolNames,
  warnings: string[],
): unknown[] {
  const native = turn.origin === 'responses';
  const out: unknown[] = [];
  const spaces = new Map<string, unknown[]>();
  for (const tool of tools) {
    if (tool.kind === 'foreign') {
      out.push(tool.raw);
      continue;
    }
    const written = writeTool(tool, native, names, openaiStrict(tool, turn, warnings));
    if (!native || tool.namespace === undefined) {
      out.push(written);
      continue;
    }
    let members = spaces.get(tool.namespace);
    if (!members) {
      members = [];
      spaces.set(tool.namespace, members);
      const description = tool.namespaceDescription;
      out.push(compact({ type: 'namespace', name: tool.namespace, description, tools: members }));
    }
    members.push(written);
  }
  return out;
}

function writeTool(tool: ClientTool, native: boolean, names: ToolNames, strict: boolean | undefined): unknown {
  const { description, grammar } = tool;
  const name = names.out(tool);
  if (tool.kind === 'custom') return compact({ type: 'custom', name, description, format: grammar });
  if (tool.kind === 'search' && native) {
    return compact({ type: SEARCH_TOOL, execution: 'client', description, parameters: tool.schema });
  }
  // This format reads an absent `strict` as true, the others read it as false.
  return compact({
    type: 'function',
    name,
    description: functionDescription(tool, !native),
    parameters: native ? tool.schema : functionSchema(tool),
    strict: native ? strict : (strict ?? false),
  });
}

export function writeToolChoice(choice: ToolChoice, names: ToolNames, native: boolean): unknown {
  const ref = (tool: ToolRef): object =>
    compact({
      type: tool.kind === 'custom' ? 'custom' : 'function',
      name: names.out(tool),
      namespace: native ? tool.namespace : undefined,
    });
  switch (choice.kind) {
    case 'tool':
      return ref(choice.tool);
    case 'allowed':
      return { type: 'allowed_tools', mode: choice.mode, tools: choice.tools.map(ref) };
    case 'foreign':
      return native ? choice.raw : refuse('tool_choice', 'This tool choice is not supported by this model.');
    default:
      return choice.kind;
  }
}
