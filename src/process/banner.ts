/**
 * What a start prints. Only the first start makes and prints keys, shown once, with requests to copy, and only at a terminal
 * or where the sandbox alone is served; only one at a terminal prints a link that signs in at the console.
 */
import { type ConsoleAddress, fingerprintLines, NO_CONSOLE } from '../admin/console-address.ts';
import { HOW_TO_BUILD } from '../admin/console-build.ts';
import type { CreatedKey } from '../admin/keys/schema.ts';
import { withoutText } from '../admin/keys/view.ts';
import type { AdminService } from '../admin/service.ts';
import { originOf } from '../core/endpoints.ts';
import { BUILT_IN_OWNER } from '../operators/port.ts';

const FIRST_CREDIT = '5';
const FIRST_BUDGET = '1000000';

interface FirstKeys {
  readonly credit: string;
  readonly tokenBudget: string;
}

/** Null when the store already has keys. Asked for without the framework, which a start does not need. */
export async function firstKeys({ keys, trail }: AdminService): Promise<FirstKeys | null> {
  if ((await keys.find({ limit: 1 })).data.length > 0) return null;
  const created = async (body: Parameters<typeof keys.create>[0]): Promise<string> => {
    const { key } = await trail.change<CreatedKey>(
      { action: 'key.create', target: null, after: withoutText, made: ({ id }) => id },
      () => keys.create(body),
    );
    return key;
  };
  return {
    credit: await created({ mode: 'credit', credit: FIRST_CREDIT, label: 'first credit key' }),
    tokenBudget: await created({ mode: 'token_budget', budget: FIRST_BUDGET, label: 'first token-budget key' }),
  };
}

/** An address that signs in at the console, once. */
export async function ownerLink({ operators, trail }: AdminService): Promise<string> {
  const { url } = await trail.change(
    { action: 'operator.link', target: BUILT_IN_OWNER, after: ({ expires_at }) => ({ expires_at }) },
    () => operators.link(BUILT_IN_OWNER),
  );
  return url;
}

interface BannerInfo {
  readonly origin: string;
  readonly dataDir: string;
  readonly sandbox: boolean;
  readonly keys: FirstKeys | null;
  readonly console: ConsoleAddress;
  /** Signs in at the console, once; null where what is printed may end in a log. */
  readonly link: string | null;
  readonly consoleBuilt: boolean;
}

export function bannerLines(info: BannerInfo): readonly string[] {
  const { origin, keys } = info;
  const tokenOrigin = originOf(origin, 'token_budget');
  const lines = [
    `Model Gateway listens on ${origin} (data in ${info.dataDir}).`,
    ...consoleLines(info),
    ...(info.consoleBuilt ? [] : [HOW_TO_BUILD]),
  ];
  if (!keys)
    return [...lines, 'List keys: npx gateway keys list. Create one: npx gateway keys create --mode credit --credit 5'];
  lines.push(
    '',
    'Two keys were created. They are shown only once: the gateway stores digests.',
    `  credit key (${FIRST_CREDIT} credits):               ${keys.credit}`,
    `  token-budget key (${FIRST_BUDGET} tokens/month): ${keys.tokenBudget}`,
  );
  if (info.sandbox) {
    lines.push(
      '',
      'Try it (the sandbox models are simulated; nothing leaves this machine):',
      '',
      curl(`${origin}/v1/chat/completions`, keys.credit, 'sandbox/alpha'),
      '',
      curl(`${tokenOrigin}/v1/messages`, keys.tokenBudget, 'sandbox/beta'),
      '',
      'Add "stream":true to the body for a stream.',
    );
  }
  return [
    ...lines,
    '',
    'SDK settings:',
    `  OpenAI-style clients     base URL ${origin}/v1        (token-budget keys: ${tokenOrigin}/v1)`,
    `  Anthropic-style clients  base URL ${origin}           (token-budget keys: ${tokenOrigin})`,
    `  Claude Code              ANTHROPIC_BASE_URL=${origin} ANTHROPIC_AUTH_TOKEN=<key> CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY=1`,
    '',
  ];
}

function consoleLines({ console: { origin, fingerprint }, link }: BannerInfo): readonly string[] {
  if (origin === null) return [`Console: none, because ${NO_CONSOLE}.`];
  const line =
    link === null
      ? `Console: ${origin} (sign in with the link of: npx gateway operators link)`
      : `Console: ${link} (signs in once, within 15 minutes)`;
  return [line, ...fingerprintLines(fingerprint)];
}

function curl(url: string, key: string, model: string): string {
  const body = JSON.stringify({ model, max_tokens: 100, messages: [{ role: 'user', content: 'Hello!' }] });
  return `curl ${url} -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${body}'`;
}
