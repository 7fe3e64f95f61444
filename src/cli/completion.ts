/** `gateway completion SHELL`: a script that completes commands, flags and the values that a flag lists. */
import { type CommandShape, shape, UsageError } from './arguments.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const COMPLETION: CommandShape = shape({
  words: ['completion'],
  examples: ['completion bash'],
  operands: [SHELLS.join('|')],
  switches: [],
  summary: 'print a shell script that completes commands and flags: source <(gateway completion bash)',
});

export function completionScript(commands: readonly CommandShape[], shell: string): string {
  switch (shell) {
    case 'bash':
      return bash(commands);
    case 'zsh':
      // Its own compatibility layer runs the script of bash, so that both complete the same.
      return `#compdef gateway\nautoload -U +X bashcompinit && bashcompinit\n${bash(commands)}`;
    case 'fish':
      return fish(commands);
    default:
      throw new UsageError(`unknown shell ${JSON.stringify(shell)}: expected one of ${SHELLS.join(', ')}`);
  }
}

function firstWords(commands: readonly CommandShape[]): readonly string[] {
  return [...new Set(commands.map(({ words }) => words[0] ?? ''))];
}

function secondWords(commands: readonly CommandShape[], first: string): readonly string[] {
  return commands.flatMap(({ words: [one, two] }) => (one === first && two !== undefined ? [two] : []));
}

function flagsOf({ flags, switches }: CommandShape): readonly string[] {
  return [...Object.keys(flags), ...switches].map((name) => `--${name}`);
}

/** `day|week` lists them; `N|none` or `TEXT` does not. */
function valuesOf(placeholder: string): readonly string[] {
  const values = placeholder.split('|');
  return values.length > 1 && values.every((value) => /^[a-z][a-z_-]*$/.test(value)) ? values : [];
}

function bash(commands: readonly CommandShape[]): string {
  const seconds = firstWords(commands).flatMap((first) => {
    const words = secondWords(commands, first);
    return words.length === 0 ? [] : [`      ${first}) options="${words.join(' ')}" ;;`];
  });
  const values = new Map<string, readonly string[]>();
  for (const { words, flags } of commands) {
    for (const [flag, placeholder] of Object.entries(flags)) {
      if (valuesOf(placeholder).length > 0) values.set(`${words.join(' ')} --${flag}`, valuesOf(placeholder));
    }
  }
  const flagCases = (length: number): readonly string[] =>
    commands
      .filter(({ words }) => words.length === length)
      .map((command) => `      "${command.words.join(' ')}") options="${flagsOf(command).join(' ')}" ;;`);
  const valueCases = [...values].map(([name, listed]) => `    "${name}") options="${listed.join(' ')}" ;;`);
  return `_gateway() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local one="\${COMP_WORDS[1]}" two="\${COMP_WORDS[2]}" options=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    options="${firstWords(commands).join(' ')} help --version"
  elif [ "$COMP_CWORD" -eq 2 ]; then
    case "$one" in
${seconds.join('\n')}
    esac
  fi
  case "$one $two $previous" in
${valueCases.join('\n')}
  esac
  if [ -z "$options" ]; then
    case "$one $two" in
${flagCases(2).join('\n')}
    esac
  fi
  if [ -z "$options" ]; then
    case "$one" in
${flagCases(1).join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$options" -- "$current"))
}
complete -o default -F _gateway gateway
`;
}

function fish(commands: readonly CommandShape[]): string {
  const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const seen = (word: string): string => `__fish_seen_subcommand_from ${word}`;
  const lines = firstWords(commands).map((word) => `complete -c gateway -n __fish_use_subcommand -f -a ${word}`);
  for (const command of commands) {
    const [one = '', two] = command.words;
    if (two !== undefined) {
      const condition = `${seen(one)}; and not ${seen(secondWords(commands, one).join(' '))}`;
      lines.push(`complete -c gateway -n ${quoted(condition)} -f -a ${two} -d ${quoted(command.summary)}`);
    }
    const condition = quoted(command.words.map(seen).join('; and '));
    for (const [flag, placeholder] of Object.entries(command.flags)) {
      const values = valuesOf(placeholder);
      const listed = values.length === 0 ? '-r' : `-x -a ${quoted(values.join(' '))}`;
      lines.push(`complete -c gateway -n ${condition} -l ${flag} ${listed}`);
    }
    for (const name of command.switches) lines.push(`complete -c gateway -n ${condition} -l ${name}`);
  }
  return `${lines.join('\n')}\n`;
}
