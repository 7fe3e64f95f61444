/**
 * Sends an alert to an incoming webhook as Slack has it (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks),
 * with a text and nothing else: what Mattermost, Rocket.Chat, Google Chat and Discord take of it as well.
 */
import { alertContent } from './alert.ts';
import { alertLine } from './alert-text.ts';
import { type PostOptions, postJson } from './post.ts';

/**
 * In Slack these three begin a mention, a link or an entity. An at sign calls everybody in other chats, unless something
 * invisible comes after it.
 */
const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '@': '@\u200b' };

export function slackBody(body: string): string {
  const { type, data } = alertContent(body);
  const line = alertLine(type, data).replaceAll(/[&<>@]/g, (sign) => ESCAPES[sign] ?? sign);
  return JSON.stringify({ text: `${line} (${type})` });
}

export async function callSlack(url: string, body: string, options: PostOptions): Promise<void> {
  await postJson(url, slackBody(body), {}, options);
}
