/** Runs the sandbox alone: `npm run sandbox -- --port 9000`. */
import { parseArgs } from 'node:util';
import { type Sandbox, type SandboxOptions, startSandbox } from './server.ts';

const HELP = `Usage: npm run sandbox -- [--port N] [--host ADDRESS] [--strict]

A simulated upstream for chat completions, responses and messages. No model is run.
  --port N         port to listen on, 0 to 65535 (default 0: a free one)
  --host ADDRESS   address to listen on (default 127.0.0.1)
  --strict         refuse what the real APIs refuse
  --help           this text`;

class UsageError extends Error {}

function readOptions(args: string[]): SandboxOptions | 'help' {
  let values: { port?: string; host?: string; strict?: boolean; help?: boolean };
  try {
    const options = {
      port: { type: 'string' },
      host: { type: 'string' },
      strict: { type: 'boolean' },
      help: { type: 'boolean' },
    } as const;
    values = parseArgs({ args, options, strict: true, allowPositionals: false }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
  if (values.help === true) return 'help';
  const port = values.port === undefined ? 0 : Number(values.port);
  if (values.port?.trim() === '' || !Number.isInteger(port) || port < 0 || port > 65535) {
    throw new UsageError(`--port must be an integer from 0 to 65535, not "${values.port}"`);
  }
  if (values.host === '') throw new UsageError('--host must not be empty');
  const strict = values.strict ?? false;
  return values.host === undefined ? { port, strict } : { port, host: values.host, strict };
}

function greeting(url: string): string {
  return `The sandbox listens on ${url} (simulated answers; no model is run)

Base URL: ${url}/v1 for chat completions and responses, ${url} for messages. Any key and any model name will do.

  curl ${url}/v1/chat/completions -H 'content-type: application/json' \\
    -d '{"model":"alpha-sim","messages":[{"role":"user","content":"Hello [[tokens=20]]"}]}'

Directives in the last user message: [[tokens=N]] [[delay=MS]] [[wait=MS]] [[status=CODE]] [[fail-after=N]]
  [[tool]] [[tool=N]] [[thinking]] [[usage=none]] [[echo]] [[headers]] [[strict]]
Stop it with Ctrl-C.`;
}

function stopOnSignal(sandbox: Sandbox): void {
  const stop = () => {
    process.off('SIGINT', stop);
    process.off('SIGTERM', stop);
    sandbox.close();
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') {
    console.log(HELP);
  } else {
    const sandbox = await startSandbox(options);
    stopOnSignal(sandbox);
    console.log(greeting(sandbox.url));
  }
} catch (error) {
  const reason = error instanceof Error ? error.message : String(error);
  console.error(`sandbox: ${reason}`);
  if (error instanceof UsageError) console.error(HELP);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
