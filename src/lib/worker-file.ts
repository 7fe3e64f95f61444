/** The entry point of a thread or a worker process, in the folder of the module that starts it; compiled in the published package. */
export function workerFile(name: string, moduleUrl: string): URL {
  const extension = moduleUrl.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`./${name}.${extension}`, moduleUrl);
}
