/** Runs the operator's command for an alert: the program itself, without a shell, with the alert on its input. */
import { spawn } from 'node:child_process';

const TIMEOUT_MS = 30_000;
const SHOWN_CHARACTERS = 300;

/** Resolves when it has ended with 0. */
export function runCommand(command: readonly string[], path: string, id: string, body: string): Promise<void> {
  const [program = '', ...given] = command;
  return new Promise((done, failed) => {
    const child = spawn(program, given, {
      shell: false,
      stdio: ['pipe', 'ignore', 'pipe'],
      // Nothing of the gateway's own environment, where its credentials are.
      env: { PATH: path, GATEWAY_ALERT_ID: id },
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors = (errors + text).slice(0, SHOWN_CHARACTERS);
    });
    child.on('error', failed);
    child.on('close', (code, signal) => {
      if (code === 0) return done();
      const how =
        signal === null ? `ended with ${code}` : `was ended by ${signal} (it may take ${TIMEOUT_MS / 1_000} s)`;
      failed(new Error(`the command ${how}${errors === '' ? '' : `: ${errors.trim()}`}`));
    });
    // A program that does not read its input is not a failure.
    child.stdin.on('error', () => {});
    child.stdin.end(body);
  });
}
