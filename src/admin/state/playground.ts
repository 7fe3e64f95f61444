/**
 * The playground sends requests of operators through the public listener, where they are held, charged and logged
 * like all others. It has a key of its own: its secret is derived from the installation's secret, so that every replica has it and no
 * store does, and each day its balance is filled up to one credit, so that no day costs more.
 */
import { hkdfSync } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Agent } from 'undici';
import { ENDPOINTS, originOf } from '../../core/endpoints.ts';
import { derivedKeyText, isKeyText, keyDigest, keyPrefix, type Mode } from '../../core/key.ts';
import { creditsFromNanos, NANOS_PER_CREDIT } from '../../core/money.ts';
import { isoDay } from '../../core/time.ts';
import type { KeySummary, LedgerAdmin } from '../../ledger/port.ts';
import { AdminError } from '../error.ts';
import type { AuditTrail } from '../http/audit-trail.ts';
import type { View } from '../http/view.ts';
import type { KeyServiceOptions } from '../keys/service.ts';
import type { PlaygroundBody, PlaygroundState } from './playground-schema.ts';

const DAILY_NANOS = NANOS_PER_CREDIT;
const LABEL = 'Playground';
/** After this many of its keys were revoked, there is a reason why. */
const KEYS_MAX = 100;

interface PlaygroundOptions extends Pick<KeyServiceOptions, 'installationSecret' | 'clock' | 'gatewayOrigin'> {
  readonly ledger: LedgerAdmin;
  /** Where this machine reaches the public listener. */
  readonly listener: string;
}

interface PlaygroundAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly requestId: string | null;
  readonly body: Readable;
}

interface OwnKey {
  readonly id: string;
  readonly text: string;
  readonly summary: KeySummary | null;
}

export class Playground {
  readonly #options: PlaygroundOptions;
  /** To this process's own listener. Its library is loaded with the first request. */
  #agent: Agent | null = null;

  constructor(options: PlaygroundOptions) {
    this.#options = options;
  }

  async state(): Promise<View<typeof PlaygroundState>> {
    const { gatewayOrigin } = this.#options;
    const { id, summary } = await this.#find();
    const left = summary === null ? DAILY_NANOS : DAILY_NANOS - summary.todaySpend;
    const origin = originOf(gatewayOrigin, 'credit');
    return {
      key_id: summary === null ? null : id,
      daily_credit: creditsFromNanos(DAILY_NANOS),
      left_today: creditsFromNanos(left < 0n ? 0n : left),
      base_url: `${origin}/v1`,
      origin,
    };
  }

  /** Resolves with the head of the answer; `signal` ends the request as a client that goes away does. */
  send(
    { format, body, key }: View<typeof PlaygroundBody>,
    trail: AuditTrail,
    signal: AbortSignal,
  ): Promise<PlaygroundAnswer> {
    if (key !== undefined && !isKeyText(key)) {
      throw new AdminError('invalid_input', 'key is not an API key of this gateway', { field: 'key' });
    }
    const change = {
      action: 'playground.send',
      target: null,
      after: ({ status, requestId }: PlaygroundAnswer) => ({
        format,
        model: body.model ?? null,
        own_key: key === undefined,
        status,
        request_id: requestId,
      }),
    };
    return trail.change(change, async () => {
      const text = key ?? (await this.#ready());
      const mode: Mode = text.startsWith('mg_t_') ? 'token_budget' : 'credit';
      const address = originOf(this.#options.listener, mode) + ENDPOINTS[format].path;
      const { Agent, request } = await import('undici');
      // Its certificate proves nothing to itself, and may be for another name.
      this.#agent ??= new Agent({ connect: { rejectUnauthorized: false }, headersTimeout: 0, bodyTimeout: 0 });
      const answer = await request(address, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${text}`, 'user-agent': 'playground' },
        body: JSON.stringify(body),
        signal,
        dispatcher: this.#agent,
      });
      const { 'content-type': contentType, 'x-request-id': requestId } = answer.headers;
      return {
        status: answer.statusCode,
        contentType: String(contentType ?? 'application/json'),
        requestId: typeof requestId === 'string' ? requestId : null,
        body: answer.body,
      };
    });
  }

  async close(): Promise<void> {
    await this.#agent?.destroy();
  }

  /** The first of its keys that nobody has revoked; without a summary where it is still to be made. */
  async #find(): Promise<OwnKey> {
    const { ledger, installationSecret } = this.#options;
    for (let number = 1; number <= KEYS_MAX; number += 1) {
      const id = number === 1 ? 'key_playground' : `key_playground_${number}`;
      const summary = await ledger.getKey(id);
      if (summary?.status === 'revoked') continue;
      const seed = hkdfSync('sha256', installationSecret, '', `model-gateway playground ${number}`, 256);
      return { id, summary, text: derivedKeyText('credit', Buffer.from(seed)) };
    }
    throw new AdminError('refused', `${KEYS_MAX} keys of the playground were revoked: it makes no more`);
  }

  /** The secret of its key, which has what it may spend today. */
  async #ready(): Promise<string> {
    const { ledger, clock } = this.#options;
    const found = await this.#find();
    const { id, text } = found;
    const summary = found.summary ?? (await this.#create(found));
    if (summary.status !== 'active' || !summary.secretPrefixes.includes(keyPrefix(text))) {
      const why = summary.status === 'active' ? 'has lost its own secret' : `is ${summary.status}`;
      throw new AdminError(
        'refused',
        `the key of the playground, ${id}, ${why}: resume it, or revoke it to get another`,
      );
    }
    const missing = DAILY_NANOS - (summary.purchased - summary.used);
    const day = isoDay(clock.nowMs());
    // One purchase a day: a second one has the same entry id, and is refused or changes nothing.
    if (missing > 0n)
      await ledger.addCredit(id, `playground-${day}`, missing, 'what the playground may spend in a day');
    return text;
  }

  async #create({ id, text }: OwnKey): Promise<KeySummary> {
    const { ledger, installationSecret } = this.#options;
    // Two at once create the same key, which is one.
    await ledger.createKey({
      id,
      mode: 'credit',
      label: LABEL,
      providerScope: 'all',
      models: null,
      rpmLimit: null,
      expiresAtMs: null,
      budget: null,
      period: 'none',
      credit: 0n,
      secret: { digest: keyDigest(installationSecret, text), prefix: keyPrefix(text) },
    });
    const summary = await ledger.getKey(id);
    if (summary === null) throw new AdminError('unavailable', 'the key of the playground could not be made');
    return summary;
  }
}
