/** The tools that a messages request declares, and which of them the provider runs itself. */
import { arrayAt, isObject, type Json, type JsonObject, objectAt, stringAt } from '../../lib/json.ts';
import { refuse } from '../errors.ts';
import type { HostedTool } from '../format.ts';

/** Typed tools that the client runs itself, of any date. What is not known here counts as the provider's. */
const CLIENT_TOOL = /^(?:bash|text_editor|memory|computer|computer_toolset|browser_toolset)_\d{8}$/;

/** The tools that `tools` and `mcp_servers` declare. */
export function hostedTools(body: JsonObject): HostedTool[] {
  const hosted: HostedTool[] = [];
  const tools = arrayAt(body, 'tools') ?? [];
  for (let index = 0; index < tools.length; index++) addHosted(hosted, tools[index], `tools[${index}]`);
  if ((arrayAt(body, 'mcp_servers')?.length ?? 0) > 0) hosted.push({ type: 'mcp', param: 'mcp_servers' });
  return hosted;
}

/**
 * Tools declared by a block of the conversation: `tool_addition`, and `compaction` with its `tool_changes`. The members
 * decide, not the type of the block. A reference is to a tool that is declared elsewhere.
 */
export function declaredBy(block: JsonObject, at: string): HostedTool[] {
  const declared: HostedTool[] = [];
  addDeclared(declared, block.tool, `${at}.tool`);
  const changes = arrayAt(block, 'tool_changes') ?? [];
  for (let index = 0; index < changes.length; index++) {
    const change = changes[index];
    if (isObject(change)) addDeclared(declared, change.tool, `${at}.tool_changes[${index}].tool`);
  }
  return declared;
}

/** Results hold no declarations: a provider that read one there would run a tool that no bound can be set for. */
export function refuseDeclared(block: JsonObject, at: string): void {
  const [first] = declaredBy(block, at);
  if (first) refuse(first.param, `${first.param}: a tool cannot be declared here.`);
}

function addDeclared(declared: HostedTool[], tool: Json | undefined, param: string): void {
  if (!isObject(tool)) return;
  const type = stringAt(tool, 'type') ?? '';
  if (type !== 'tool_definition' && !type.endsWith('_reference')) addHosted(declared, tool, param);
  addHosted(declared, objectAt(tool, 'definition'), `${param}.definition`);
}

function addHosted(hosted: HostedTool[], tool: Json | undefined, param: string): void {
  const type = isObject(tool) ? stringAt(tool, 'type') : undefined;
  if (!isObject(tool) || type === undefined || type === 'custom' || CLIENT_TOOL.test(type)) return;
  hosted.push({ type, param, tool });
}
