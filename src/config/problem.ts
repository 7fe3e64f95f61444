/** The problems of a configuration: one line each, with the path and what is expected. */
export class ConfigError extends Error {
  readonly problems: readonly string[];
  /** Files that were read besides the config file, or should have been: a change of one may repair it. */
  readonly files: readonly string[];

  constructor(problems: readonly string[], files: readonly string[] = []) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
    this.files = files;
  }
}

export interface Problem {
  /** Empty for the file as a whole. */
  readonly path: string;
  readonly message: string;
}

/** `gateway.yaml: models[0].pricing.input: must be …` */
function problemLine(file: string, { path, message }: Problem): string {
  const oneLine = message.replaceAll(/\s+/g, ' ').trim();
  return path === '' ? `${file}: ${oneLine}` : `${file}: ${path}: ${oneLine}`;
}

export function configError(file: string, problems: readonly Problem[]): ConfigError {
  return new ConfigError(problems.map((problem) => problemLine(file, problem)));
}
