import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'

/** Encrypts stored secrets, if there is a key. Stored text without the prefix is not encrypted. */
export interface SecretBox {
  /** `owner` is bound into the result: only `open` with the same owner returns the text. */
  seal(text: string, owner: string): string
  /** Throws a SecretKeyError if none of the keys fits. */
  open(stored: string, owner: string): string
  /**
   * Prefix of everything that `seal` returns. Undefined if there is no key; texts are then stored unencrypted.
   */
  readonly mark: string | undefined
  /** The prefixes of all keys that `open` knows. */
  readonly knownMarks: readonly string[]
}

/** A stored secret cannot be read. The message is for the operator and names no secret. */
export class SecretKeyError extends Error {
  override readonly name = 'SecretKeyError'
}

/** Begins every encrypted text. */
export const sealedMark = 'sealed:1:'
/** Begins a plain text that would look like an encrypted one. */
const plainMark = 'sealed:plain:'

interface Key {
  readonly mark: string
  readonly bytes: Buffer
}

/** The first secret encrypts. The others only decrypt what was encrypted with them before. */
export function createSecretBox(secrets: readonly string[]): SecretBox {
  const keys = secrets.map(toKey)
  const first = keys[0]
  return {
    mark: first?.mark,
    knownMarks: keys.map(({ mark }) => mark),
    seal(text, owner) {
      if (first) return first.mark + encrypt(first.bytes, text, owner)
      return text.startsWith('sealed:') ? plainMark + text : text
    },
    open(stored, owner) {
      if (stored.startsWith(plainMark)) return stored.slice(plainMark.length)
      if (!stored.startsWith(sealedMark)) return stored
      const key = keys.find(({ mark }) => stored.startsWith(mark))
      if (!key) throw new SecretKeyError(lackingKey(stored))
      return decrypt(key.bytes, stored.slice(key.mark.length), owner)
    },
  }
}

/** For a stored secret that none of the configured keys can decrypt. */
export function lackingKey(stored: string): string {
  const name = stored.slice(sealedMark.length).split(':')[0]
  return `Stored secrets are encrypted with the key ${name}, which HOLDPOINT_SECRET_KEY does not contain.`
}

/** The name of a key tells keys apart and reveals nothing about them. */
function toKey(secret: string): Key {
  const bytes = Buffer.from(hkdfSync('sha256', secret, '', 'holdpoint stored secrets', 32))
  const name = createHash('sha256').update(bytes).digest('hex').slice(0, 8)
  return { mark: `${sealedMark}${name}:`, bytes }
}

const nonceBytes = 12
const tagBytes = 16

function encrypt(key: Buffer, text: string, owner: string): string {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(owner))
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')
}

function decrypt(key: Buffer, sealed: string, owner: string): string {
  const bytes = Buffer.from(sealed, 'base64url')
  try {
    const nonce = bytes.subarray(0, nonceBytes)
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes })
      .setAAD(Buffer.from(owner))
      .setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes))
    const body = bytes.subarray(nonceBytes + tagBytes)
    return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8')
  } catch (error) {
    throw new SecretKeyError('A stored secret was changed after it was encrypted. Set it again.', { cause: error })
  }
}
