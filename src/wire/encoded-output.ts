/**
 * Sound and images that a stream has brought: nobody can count their tokens, but where a provider reports nothing, because a client
 * has left before the end, they are not free.
 */

/**
 * The sound of streams is PCM of 16 bits at 24 kHz, 64,000 characters of base64 a second, and OpenAI bills twenty tokens for that
 * second (gpt-4o-audio-preview: 37 for "Hello! How can I assist you today?").
 */
const SOUND_CHARACTERS_PER_TOKEN = 3_200;
/** Of Gemini 2.5's, whatever their size. Later ones bill 1,120 and more. */
const IMAGE_TOKENS = 1_290;

/** About so many tokens. */
export interface EncodedTokens {
  readonly audio: number;
  readonly image: number;
}

export function sumOf(tokens: EncodedTokens | undefined): number {
  return tokens === undefined ? 0 : tokens.audio + tokens.image;
}

/** So much of the middle of an image, which is compressed, tells it from others. */
const SAMPLE_CHARACTERS = 256;

export class EncodedOutput {
  #soundCharacters = 0;
  /** By what tells them apart: what a server sends again is the same image. */
  readonly #images = new Set<string>();

  addSound(characters: number): void {
    this.#soundCharacters += characters;
  }

  /** From `start` to `end` of the text. */
  addImage(text: string, start: number, end: number): void {
    const middle = (start + end) >> 1;
    this.#images.add(`${end - start} ${text.slice(Math.max(start, middle - SAMPLE_CHARACTERS), middle)}`);
  }

  /** Null where there is neither. */
  get tokens(): EncodedTokens | null {
    if (this.#soundCharacters === 0 && this.#images.size === 0) return null;
    const audio = Math.ceil(this.#soundCharacters / SOUND_CHARACTERS_PER_TOKEN);
    return { audio, image: this.#images.size * IMAGE_TOKENS };
  }
}
