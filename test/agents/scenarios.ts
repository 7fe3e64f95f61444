/** Which agent runs on which upstream, and what the model does there: read, edit, run a command, and say so. */
import { basename, join } from 'node:path';
import type { Format } from '../../src/core/endpoints.ts';
import type { Mode } from '../../src/core/key.ts';
import type { ScriptedCall, Step } from './scripted-upstream.ts';
import { type AgentName, agentOf } from './set-ups.ts';

export const FILE = 'notes.txt';
export const OTHER_FILE = 'other.txt';
export const PROOF = 'proof.txt';
export const BEFORE = 'The colour is red.\nThe second line stays.\n';
export const AFTER = 'The colour is blue – “really”.\nThe second line stays.\n';
export const OTHER = 'Another file, read in parallel.\n';
export const FINAL = 'Done: the colour is blue now, and the proof is written.';

const COMMAND = `cp ${FILE} ${PROOF} && echo proof-of-the-edit`;
const PROVED = /proof-of-the-edit/;
const [OLD_LINE = '', NEW_LINE = ''] = [BEFORE, AFTER].map((text) => text.split('\n')[0]);
const PATCH = `*** Begin Patch\n*** Update File: ${FILE}\n@@\n-${OLD_LINE}\n+${NEW_LINE}\n*** End Patch\n`;

export interface Scenario {
  readonly agent: AgentName;
  /** What the agent makes of the model's id decides which tools it offers. */
  readonly model: string;
  readonly upstream: Format;
  /** The mode of the key, which decides the origin. */
  readonly mode: Mode;
  readonly what: string;
  /** The tools that the script needs, and that must arrive with a schema or as free text. */
  readonly tools: readonly string[];
  /** A tool that is offered only once the model has searched for it. */
  readonly found?: string;
  /** Every request must come over a WebSocket. */
  readonly webSocket?: true;
  script(workFolder: string): readonly Step[];
}

const CLOSE: Step = { say: FINAL, calls: [] };
const READ_RESULT: Readonly<Record<string, RegExp>> = {
  [FILE]: /The colour is red\./,
  [OTHER_FILE]: /read in parallel/,
};

function claudeCode(upstream: Format, what: string, mode: Mode = 'credit'): Scenario {
  return {
    agent: 'claude',
    model: 'claude-scripted',
    upstream,
    mode,
    what,
    tools: ['Read', 'Edit', 'Bash', 'ToolSearch'],
    found: 'NotebookEdit',
    script: (folder) => [
      {
        say: 'I read both files.',
        calls: [FILE, OTHER_FILE].map((name) => ({
          tool: 'Read',
          input: { file_path: join(folder, name) },
          result: READ_RESULT[name] ?? /./,
        })),
      },
      {
        say: 'I look for another tool.',
        calls: [
          { tool: 'ToolSearch', input: { query: 'select:NotebookEdit', max_results: 1 }, result: /NotebookEdit/ },
        ],
      },
      {
        say: 'I edit the first one.',
        calls: [
          {
            tool: 'Edit',
            input: { file_path: join(folder, FILE), old_string: OLD_LINE, new_string: NEW_LINE },
            result: /updated successfully/,
          },
        ],
      },
      {
        say: 'I run a command.',
        calls: [{ tool: 'Bash', input: { command: COMMAND, description: 'Copy the file' }, result: PROVED }],
      },
      CLOSE,
    ],
  };
}

function execute(cmd: string, result: RegExp): ScriptedCall {
  return { tool: 'exec_command', input: { cmd }, result };
}

const READ_BOTH: Step = {
  say: 'I read both files.',
  calls: Object.entries(READ_RESULT).map(([name, result]) => execute(`cat ${name}`, result)),
};
const RUN_COMMAND: Step = { say: 'I run a command.', calls: [execute(COMMAND, PROVED)] };

/** A model that Codex knows to edit with the custom tool `apply_patch`. */
function codexWithPatch(upstream: Format, what: string, mode: Mode = 'credit'): Scenario {
  return {
    agent: 'codex',
    model: 'gpt-5.5',
    upstream,
    mode,
    what,
    tools: ['exec_command', 'apply_patch'],
    script: () => [
      READ_BOTH,
      { say: 'I edit the first one.', calls: [{ tool: 'apply_patch', input: PATCH, result: /Success/ }] },
      RUN_COMMAND,
      CLOSE,
    ],
  };
}

/** The same model searches for a tool first, which Codex does itself. */
function codexWithSearch(upstream: Format): Scenario {
  const plain = codexWithPatch(upstream, 'translated, with a search for tools');
  const search: Step = {
    say: 'I look for another tool.',
    calls: [{ tool: 'tool_search', input: { query: 'spawn an agent' }, result: /spawn_agent/ }],
  };
  return {
    ...plain,
    tools: [...plain.tools, 'tool_search'],
    found: 'spawn_agent',
    script: (folder) => [search, ...plain.script(folder)],
  };
}

/** A model that Codex does not know: it offers functions only, some of them in a namespace. */
function codexWithFunctions(upstream: Format): Scenario {
  const edit = `sed -i '1s/.*/${NEW_LINE}/' ${FILE}`;
  return {
    agent: 'codex',
    model: 'house-model',
    upstream,
    mode: 'credit',
    what: 'functions only',
    tools: ['exec_command', 'spawn_agent'],
    script: () => [READ_BOTH, { say: 'I edit the first one.', calls: [execute(edit, /code 0/)] }, RUN_COMMAND, CLOSE],
  };
}

/** A model for which Codex offers one custom tool inside a namespace, whose free text is a program. */
function codexWithPrograms(upstream: Format): Scenario {
  const program = (input: string, result: RegExp): ScriptedCall => ({ tool: 'exec', input, result });
  const shell = (command: string, result: RegExp): ScriptedCall =>
    program(`const ran = await tools.exec_command({ cmd: ${JSON.stringify(command)} });\ntext(ran.output);\n`, result);
  return {
    agent: 'codex',
    model: 'gpt-6-sol',
    upstream,
    mode: 'credit',
    what: 'programs in a custom tool of a namespace',
    tools: ['exec', 'spawn_agent'],
    script: () => [
      {
        say: 'I read both files.',
        calls: Object.entries(READ_RESULT).map(([name, result]) => shell(`cat ${name}`, result)),
      },
      {
        say: 'I edit the first one.',
        calls: [program(`text(await tools.apply_patch(${JSON.stringify(PATCH)}));\n`, /completed/)],
      },
      { say: 'I run a command.', calls: [shell(COMMAND, PROVED)] },
      CLOSE,
    ],
  };
}

type Loop = Pick<Scenario, 'tools'> & {
  /** One call that reads both files, or one for each. */
  readonly read: (paths: readonly string[]) => readonly ScriptedCall[];
  readonly edit: (path: string) => ScriptedCall;
  readonly run: ScriptedCall;
};

const EACH = (tool: string, field: string) => (paths: readonly string[]) =>
  paths.map((path) => ({ tool, input: { [field]: path }, result: READ_RESULT[basename(path)] ?? /./ }));

/** Agents that offer three tools of this kind, by the names of the tools. */
const PLAIN_AGENTS = {
  opencode: {
    tools: ['read', 'edit', 'bash'],
    read: EACH('read', 'filePath'),
    edit: (filePath) => ({
      tool: 'edit',
      input: { filePath, oldString: OLD_LINE, newString: NEW_LINE },
      result: /success/i,
    }),
    run: { tool: 'bash', input: { command: COMMAND, description: 'Copy the file' }, result: PROVED },
  },
  qwen: {
    tools: ['read_file', 'edit', 'run_shell_command'],
    read: EACH('read_file', 'file_path'),
    edit: (file_path) => ({
      tool: 'edit',
      input: { file_path, old_string: OLD_LINE, new_string: NEW_LINE },
      result: /blue/,
    }),
    run: { tool: 'run_shell_command', input: { command: COMMAND, is_background: false }, result: PROVED },
  },
  cline: {
    tools: ['read_files', 'editor', 'run_commands'],
    read: (paths) =>
      paths.map((path) => ({
        tool: 'read_files',
        input: { files: [{ path }] },
        result: READ_RESULT[basename(path)] ?? /./,
      })),
    edit: (path) => ({ tool: 'editor', input: { path, old_text: OLD_LINE, new_text: NEW_LINE }, result: /./ }),
    run: { tool: 'run_commands', input: { commands: [COMMAND] }, result: PROVED },
  },
  continue: {
    tools: ['Read', 'Edit', 'Bash'],
    read: EACH('Read', 'filepath'),
    edit: (file_path) => ({
      tool: 'Edit',
      input: { file_path, old_string: OLD_LINE, new_string: NEW_LINE },
      result: /./,
    }),
    run: { tool: 'Bash', input: { command: COMMAND }, result: PROVED },
  },
  pi: {
    tools: ['read', 'edit', 'bash'],
    read: EACH('read', 'path'),
    edit: (path) => ({
      tool: 'edit',
      input: { path, edits: [{ oldText: OLD_LINE, newText: NEW_LINE }] },
      result: /Successfully/,
    }),
    run: { tool: 'bash', input: { command: COMMAND }, result: PROVED },
  },
} as const satisfies Partial<Record<AgentName, Loop>>;

function plainAgent(agent: keyof typeof PLAIN_AGENTS, upstream: Format, mode: Mode = 'credit'): Scenario {
  const { tools, read, edit, run }: Loop = PLAIN_AGENTS[agent];
  return {
    agent,
    model: 'house-model',
    upstream,
    mode,
    what: upstream === agentOf(agent).route ? 'passed through' : 'translated',
    tools,
    script: (folder) => [
      { say: 'I read both files.', calls: read([FILE, OTHER_FILE].map((name) => join(folder, name))) },
      { say: 'I edit the first one.', calls: [edit(join(folder, FILE))] },
      { say: 'I run a command.', calls: [run] },
      CLOSE,
    ],
  };
}

/** It offers no tools: the model writes whole files into its answer. */
function aider(upstream: Format, mode: Mode = 'credit'): Scenario {
  const file = (name: string): string => `${name}\n\`\`\`\n${AFTER}\`\`\`\n`;
  return {
    agent: 'aider',
    model: 'house-model',
    upstream,
    mode,
    what: upstream === 'chat' ? 'passed through' : 'translated',
    tools: [],
    script: () => [{ say: `${file(FILE)}\n${file(PROOF)}\n${FINAL}`, calls: [] }],
  };
}

export const SCENARIOS: readonly Scenario[] = [
  claudeCode('chat', 'translated'),
  claudeCode('responses', 'translated'),
  claudeCode('messages', 'passed through', 'token_budget'),
  codexWithPatch('messages', 'translated'),
  codexWithPatch('chat', 'translated'),
  codexWithPatch('responses', 'passed through', 'token_budget'),
  { ...codexWithPatch('messages', 'translated, over WebSocket'), webSocket: true },
  { ...codexWithPatch('responses', 'passed through, over WebSocket', 'token_budget'), webSocket: true },
  codexWithSearch('messages'),
  codexWithSearch('chat'),
  codexWithFunctions('messages'),
  codexWithFunctions('chat'),
  codexWithPrograms('messages'),
  codexWithPrograms('chat'),
  ...(Object.keys(PLAIN_AGENTS) as (keyof typeof PLAIN_AGENTS)[]).flatMap((agent) => [
    plainAgent(agent, 'chat', 'token_budget'),
    plainAgent(agent, 'messages'),
  ]),
  plainAgent('pi', 'responses', 'token_budget'),
  aider('chat', 'token_budget'),
  aider('messages'),
];
