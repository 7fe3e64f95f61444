/** Tools that a conversation adds and withdraws: `tool_addition`, `tool_removal`, and the `tool_changes` of a compaction. */
import { isObject, type Json, type JsonObject, objectAt, objectsAt, stringAt } from '../../lib/json.ts';
import { lastAnswer } from '../translate/history.ts';
import type { TurnTool } from '../translate/turn.ts';

interface ToolChange {
  readonly block: JsonObject;
  /** The path of the tool in it. */
  readonly at: string;
  /** The change was made before the last answer. */
  readonly past: boolean;
}

/**
 * The tools that are offered at the end of the conversation. A tool that only its own format knows is refused by whoever
 * writes it where it is asked for now; one that was added before is left out here, because the client cannot take it back.
 */
export function toolsInEffect(
  declared: readonly TurnTool[],
  body: JsonObject,
  read: (tool: JsonObject, at: string) => TurnTool,
  warnings: string[],
): readonly TurnTool[] {
  const changes = changesIn(body);
  if (changes.length === 0) return declared;
  const known = new Map(declared.map((tool) => [nameOf(tool), tool]));
  const offered = new Map(known);
  for (const { block, at, past } of changes) {
    const change = objectAt(block, 'tool') ?? {};
    const name = stringAt(change, 'name');
    if (block.type === 'tool_removal') {
      offered.delete(name ?? '');
      continue;
    }
    const tool = definedBy(change, at, read) ?? known.get(name ?? '');
    if (tool === undefined) continue;
    const isNew = known.get(nameOf(tool)) !== tool;
    known.set(nameOf(tool), tool);
    if (past && isNew && tool.kind === 'foreign') warnings.push(`${tool.at}: left out, the target has no such tool`);
    else offered.set(nameOf(tool), tool);
  }
  return [...offered.values()];
}

/** Undefined where the change names a tool that is declared elsewhere. */
function definedBy(
  change: JsonObject,
  at: string,
  read: (tool: JsonObject, at: string) => TurnTool,
): TurnTool | undefined {
  if (stringAt(change, 'type')?.endsWith('_reference')) return undefined;
  if (change.type !== 'tool_definition') return read(change, at);
  const definition = objectAt(change, 'definition');
  return definition && read(definition, `${at}.definition`);
}

function nameOf(tool: TurnTool): string {
  return tool.kind === 'foreign' ? (stringAt(tool.raw, 'name') ?? tool.at) : tool.name;
}

/** Those of the system prompt count for the whole conversation. */
function changesIn(body: JsonObject): readonly ToolChange[] {
  const messages = objectsAt(body, 'messages');
  const answered = lastAnswer(messages);
  return [
    ...changesAmong(body.system, 'system', false),
    ...messages.flatMap(({ content }, index) => changesAmong(content, `messages[${index}].content`, index <= answered)),
  ];
}

function changesAmong(blocks: Json | undefined, path: string, past: boolean): readonly ToolChange[] {
  return (Array.isArray(blocks) ? blocks : []).flatMap((block: Json, index): ToolChange[] => {
    const at = `${path}[${index}]`;
    if (!isObject(block)) return [];
    if (isToolChange(block)) return [{ block, at: `${at}.tool`, past }];
    if (block.type !== 'compaction') return [];
    return objectsAt(block, 'tool_changes').map((change, number) => {
      return { block: change, at: `${at}.tool_changes[${number}].tool`, past };
    });
  });
}

/** Whether a block only says which tools there are from here on. */
export function isToolChange({ type }: JsonObject): boolean {
  return type === 'tool_addition' || type === 'tool_removal';
}
