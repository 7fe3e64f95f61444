/** The file of a thread, beside the module that starts it. The published package has it compiled. */
export function workerFile(name: string, moduleUrl: string): URL {
  const extension = moduleUrl.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`./${name}.${extension}`, moduleUrl);
}
