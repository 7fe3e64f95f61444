/** The flags for limits, which keys and accounts have in common. */

export const LIMIT_FLAGS = {
  rpm: 'N|none',
  tpm: 'TOKENS|none',
  parallel: 'N|none',
  'max-output': 'TOKENS|none',
  models: 'ID,PATTERN|all',
  addresses: 'CIDR,CIDR|any',
} as const;

/** As the API takes them; undefined where a flag is not given. */
export function limitSettings(flags: Readonly<Record<string, string>>): object {
  return {
    rpm_limit: flags.rpm,
    tpm_limit: flags.tpm,
    parallel_limit: flags.parallel,
    output_limit: flags['max-output'],
    models: listOf(flags.models, 'all'),
    addresses: listOf(flags.addresses, 'any'),
  };
}

function listOf(text: string | undefined, everything: string): readonly string[] | null | undefined {
  if (text === undefined) return undefined;
  return text === everything ? null : text.split(',');
}
