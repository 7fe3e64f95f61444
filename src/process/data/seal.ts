/** The encryption of backups: the age format, which the `age` command reads too. */
import { AdminError } from '../../admin/error.ts';
import { type Environment, readVariable } from '../../config/secrets.ts';
import { SettingError } from '../../config/settings.ts';

const SETTING = 'GATEWAY_BACKUP_KEY';
const PASSPHRASE_LENGTH_MIN = 16;
/** Takes 32 MB; age's own default takes 256, which a small container does not have. */
const SCRYPT_WORK_FACTOR = 15;
const AGE_HEADER = 'age-encryption.org/v1';

type Bytes = ReadableStream<Uint8Array>;

/** A recipient can only seal, an identity and a passphrase do both. */
export type BackupKey = { readonly kind: 'recipient' | 'identity' | 'passphrase'; readonly text: string } | null;

/** Null where none is given. The value is never shown. */
export function readBackupKey(env: Environment): BackupKey {
  const read = readVariable(env, SETTING);
  if (read === null) return null;
  if ('problem' in read) throw new SettingError('', read.problem);
  const text = read.value.trim();
  if (/^age1[a-z0-9]+$/.test(text)) return { kind: 'recipient', text };
  if (/^AGE-SECRET-KEY-/.test(text)) return { kind: 'identity', text };
  if (text.length >= PASSPHRASE_LENGTH_MIN) return { kind: 'passphrase', text };
  throw new SettingError(
    SETTING,
    ` is too short: must be an age recipient (age1…), an age identity (AGE-SECRET-KEY-…), or a passphrase of at least ${PASSPHRASE_LENGTH_MIN} characters`,
  );
}

export function isSealed(beginning: Uint8Array): boolean {
  return Buffer.from(beginning).toString('latin1').startsWith(AGE_HEADER);
}

export async function seal(plain: Bytes, key: NonNullable<BackupKey>): Promise<Bytes> {
  const { Encrypter, identityToRecipient } = await import('age-encryption');
  const encrypter = new Encrypter();
  try {
    if (key.kind === 'passphrase') {
      encrypter.setScryptWorkFactor(SCRYPT_WORK_FACTOR);
      encrypter.setPassphrase(key.text);
    } else {
      encrypter.addRecipient(key.kind === 'recipient' ? key.text : await identityToRecipient(key.text));
    }
  } catch {
    throw new SettingError(SETTING, ' is not a valid age recipient or identity');
  }
  return encrypter.encrypt(plain);
}

/** The stream ends with an error where the file was cut short or changed. */
export async function unseal(sealed: Bytes, key: BackupKey, name: string): Promise<Bytes> {
  if (key === null || key.kind === 'recipient') {
    const needed = key === null ? `set ${SETTING}` : `${SETTING} must be the identity (AGE-SECRET-KEY-…)`;
    throw new AdminError('refused', `${name} is encrypted: ${needed} to restore it`);
  }
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  try {
    if (key.kind === 'passphrase') decrypter.addPassphrase(key.text);
    else decrypter.addIdentity(key.text);
    return await decrypter.decrypt(sealed);
  } catch (error) {
    throw new AdminError('refused', `${name} cannot be decrypted with this ${SETTING}, or is damaged`, {
      cause: error,
    });
  }
}
