/** Counts the images and files of a request while its messages are walked. */
import { isObject, type Json } from '../lib/json.ts';
import { refuse } from './errors.ts';

export class AttachmentTally {
  readonly needs: { images?: string; files?: string } = {};
  #count = 0;
  #inlineBytes = 0;

  get attachments(): { readonly count: number; readonly inlineBytes: number } {
    return { count: this.#count, inlineBytes: this.#inlineBytes };
  }

  /** `data`: what may hold the image itself (base64 or a data URL); a plain URL takes no inline bytes. */
  image(path: string, data: Json | undefined): void {
    this.needs.images ??= path;
    this.#add(data);
  }

  /** A document, file or audio. */
  file(path: string, data: Json | undefined): void {
    this.needs.files ??= path;
    this.#add(data);
  }

  /** Files stored at the provider belong to the operator's account, not to the caller. */
  providerFile(holder: Json | undefined, param: string): void {
    if (isObject(holder) && holder.file_id !== undefined && holder.file_id !== null) {
      refuse(param, `${param}: files stored at the provider cannot be used through the gateway. Send the file inline.`);
    }
  }

  #add(data: Json | undefined): void {
    this.#count++;
    if (typeof data === 'string' && !data.startsWith('http://') && !data.startsWith('https://')) {
      this.#inlineBytes += data.length;
    }
  }
}
