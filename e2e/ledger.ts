/** The ledger after a scenario: the charge is the usage that the client saw, and nothing is held. */
import type { CreatedKey } from '../src/admin/keys/schema.ts';
import type { StartedGateway } from '../test/support/started-gateway.ts';

export interface SeenUsage {
  readonly input: number;
  readonly output: number;
  readonly answers: number;
  /** The client went before the end: it cannot know what it is charged, and only that nothing stays held can be checked. */
  readonly isCut?: boolean;
}

/** USD per million tokens of the sandbox models, and so thousandths of a billionth of a credit per token. */
const PRICE = { input: 1, output: 4 };

/** How the ledger differs from what the client saw; null where it does not. */
export async function unlikeBooks(
  gateway: StartedGateway,
  key: CreatedKey,
  { input, output, answers, isCut = false }: SeenUsage,
): Promise<string | null> {
  const view = await settled(gateway, key);
  if (view.live_holds > 0 || view.reserved > 0) return `${view.live_holds} holds are left`;
  if (isCut) return null;
  const [used, seen] =
    key.mode === 'credit'
      ? [Math.round(view.used * 1e9), (input * PRICE.input + output * PRICE.output) * 1_000]
      : [view.used, input + output];
  if (used !== seen) return `${used} was charged, the client saw ${input} + ${output} tokens in ${answers} answers`;
  return null;
}

/** A hold that is there after so many looks is left for good. */
const LOOKS = 1_200;

/** The key once nothing of it runs any more. */
export async function settled(gateway: StartedGateway, key: CreatedKey) {
  for (let tries = 0; ; tries++) {
    const view = await gateway.admin.showKey(key.id);
    if (view.live_holds === 0 || tries === LOOKS) return view;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
