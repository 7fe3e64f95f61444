/** What a start prints: at the very first one two keys, shown once, and requests to paste; no secrets later. */
import type { AdminService } from '../admin/service.ts';

const FIRST_CREDIT = '5';
const FIRST_BUDGET = '1000000';

export interface FirstKeys {
  readonly credit: string;
  readonly tokenBudget: string;
}

/** Null where the store has keys already. */
export async function firstKeys(admin: AdminService): Promise<FirstKeys | null> {
  if ((await admin.listKeys()).length > 0) return null;
  const credit = await admin.createKey({ mode: 'credit', credit: FIRST_CREDIT, label: 'first credit key' });
  const tokenBudget = await admin.createKey({
    mode: 'token_budget',
    budget: FIRST_BUDGET,
    label: 'first token-budget key',
  });
  return { credit: credit.key, tokenBudget: tokenBudget.key };
}

export interface WelcomeFacts {
  readonly origin: string;
  readonly dataDir: string;
  readonly sandbox: boolean;
  readonly keys: FirstKeys | null;
}

export function welcome({ origin, dataDir, sandbox, keys }: WelcomeFacts): readonly string[] {
  const lines = [`Model Gateway listens on ${origin} (data in ${dataDir}).`];
  if (!keys)
    return [...lines, 'Keys: npx gateway keys list; a new one: npx gateway keys create --mode credit --credit 5'];
  lines.push(
    '',
    'Two keys were made. They are shown this once; only digests are kept.',
    `  credit key (${FIRST_CREDIT} credits):               ${keys.credit}`,
    `  token-budget key (${FIRST_BUDGET} tokens/month): ${keys.tokenBudget}`,
  );
  if (sandbox) {
    lines.push(
      '',
      'Try it (the sandbox models are simulated; nothing leaves this machine):',
      '',
      curl(`${origin}/v1/chat/completions`, keys.credit, 'sandbox/alpha'),
      '',
      curl(`${origin}/token/v1/messages`, keys.tokenBudget, 'sandbox/beta'),
      '',
      'Add "stream":true to the body for a stream.',
    );
  }
  return [
    ...lines,
    '',
    'SDK settings:',
    `  OpenAI-style clients     base URL ${origin}/v1        (token-budget keys: ${origin}/token/v1)`,
    `  Anthropic-style clients  base URL ${origin}           (token-budget keys: ${origin}/token)`,
    `  Claude Code              ANTHROPIC_BASE_URL=${origin} ANTHROPIC_AUTH_TOKEN=<key> CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY=1`,
    '',
  ];
}

function curl(url: string, key: string, model: string): string {
  const body = JSON.stringify({ model, max_tokens: 100, messages: [{ role: 'user', content: 'Hello!' }] });
  return `curl ${url} -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${body}'`;
}
