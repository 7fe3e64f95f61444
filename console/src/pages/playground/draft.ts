/** What was put together, and the exact request that it stands for in each format. Pure. */
export type Format = 'chat' | 'responses' | 'messages';

export interface Image {
  readonly name: string;
  /** `data:image/png;base64,…` */
  readonly url: string;
}

export interface Draft {
  readonly format: Format;
  readonly models: readonly string[];
  readonly system: string;
  readonly prompt: string;
  readonly images: readonly Image[];
  readonly maxTokens: string;
  readonly temperature: string;
  /** A JSON array, in the format's own shape. */
  readonly tools: string;
  readonly stream: boolean;
}

export const NEW: Draft = {
  format: 'chat',
  models: [],
  system: '',
  prompt: '',
  images: [],
  maxTokens: '512',
  temperature: '',
  tools: '',
  stream: true,
};

export type Body = Readonly<Record<string, unknown>>;

/** A text where something cannot be sent, and says why. */
export function bodyOf(draft: Draft, model: string): Body | string {
  const tools = draft.tools.trim() === '' ? undefined : parsed(draft.tools);
  if (tools !== undefined && !Array.isArray(tools)) return 'Tools must be a JSON array in the chosen format.';
  const limit = number(draft.maxTokens);
  const temperature = number(draft.temperature);
  if (limit === null) return 'The maximum output must be a whole number of tokens.';
  if (temperature === null) return 'The temperature must be a number.';
  const shared = {
    ...(temperature !== undefined && { temperature }),
    ...(tools !== undefined && { tools }),
    ...(draft.stream && { stream: true }),
  };
  const system = draft.system.trim();
  switch (draft.format) {
    case 'chat':
      return {
        model,
        messages: [
          ...(system === '' ? [] : [{ role: 'system', content: system }]),
          { role: 'user', content: content(draft, chatImage, (text) => ({ type: 'text', text })) },
        ],
        ...(limit !== undefined && { max_tokens: limit }),
        ...shared,
      };
    case 'responses':
      return {
        model,
        ...(system !== '' && { instructions: system }),
        input:
          draft.images.length === 0
            ? draft.prompt
            : [{ role: 'user', content: content(draft, responsesImage, (text) => ({ type: 'input_text', text })) }],
        ...(limit !== undefined && { max_output_tokens: limit }),
        ...shared,
      };
    case 'messages':
      return {
        model,
        max_tokens: limit ?? 1_024,
        ...(system !== '' && { system }),
        messages: [{ role: 'user', content: content(draft, messagesImage, (text) => ({ type: 'text', text })) }],
        ...shared,
      };
  }
}

function content(draft: Draft, image: (image: Image) => object, text: (text: string) => object): unknown {
  return draft.images.length === 0 ? draft.prompt : [...draft.images.map(image), text(draft.prompt)];
}

function chatImage({ url }: Image): object {
  return { type: 'image_url', image_url: { url } };
}

function responsesImage({ url }: Image): object {
  return { type: 'input_image', image_url: url };
}

function messagesImage({ url }: Image): object {
  const [, media_type = '', data = ''] = /^data:([^;]+);base64,(.*)$/.exec(url) ?? [];
  return { type: 'image', source: { type: 'base64', media_type, data } };
}

/** Undefined where nothing was typed, null where it is not a number. */
function number(text: string): number | undefined | null {
  if (text.trim() === '') return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
