/** What is imported passes `gateway config check`: what would not is left out, and named with its reason. */
import { loadConfig } from '../config/load.ts';
import { ConfigError } from '../config/problem.ts';
import { readSettings } from '../config/settings.ts';
import type { ImportPlan } from './plan.ts';

/** Leaves out, one after the other, the models and providers that the reader of config files refuses. */
export async function leaveOutRefused(plan: ImportPlan): Promise<void> {
  for (;;) {
    const problems = await problemsOf(plan);
    const refused = problems.flatMap((problem) => placeOf(plan, problem) ?? []);
    if (refused.length === 0) {
      plan.notes.push(...problems.map((problem) => `gateway.yaml: ${problem}`));
      return;
    }
    for (const { id, why } of refused) {
      plan.notes.push(`${id}: ${why}`);
      plan.drop(id);
    }
  }
}

/** Without the name of the file. */
async function problemsOf(plan: ImportPlan): Promise<readonly string[]> {
  const text = plan.config();
  // Whether the variables are set is for whoever starts the gateway.
  const names = [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name);
  const env = Object.fromEntries(names.map((name) => [name, `placeholder of ${name}`.replaceAll(' ', '-')]));
  try {
    await loadConfig({
      settings: readSettings({}),
      env,
      sandboxUrl: 'http://sandbox.invalid',
      text,
      allProblems: true,
    });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map((problem) => problem.replace(/^[^:]*: /, ''));
  }
}

interface Refused {
  readonly id: string;
  readonly why: string;
}

function placeOf(plan: ImportPlan, problem: string): Refused | null {
  const [, index, why = ''] = /^models\[(\d+)\](?:[^:]*): (.*)$/s.exec(problem) ?? [];
  if (index !== undefined) {
    const id = [...plan.models.map((model) => model.id), ...plan.patterns.keys()][Number(index)];
    return id === undefined ? null : { id, why: `${problem.includes('].pricing: ') ? 'its price ' : ''}${why}` };
  }
  const [, name, reason = ''] = /^providers\.([\w-]+)(?:[^:]*): (.*)$/s.exec(problem) ?? [];
  return name === undefined ? null : { id: name, why: reason };
}
