import { createHash, randomBytes } from 'node:crypto'

/** Tells a key from other tokens, and lets secret scanners find keys that were published by mistake. */
export const secretPrefix = 'hp_'

/** 256 random bits, so that a plain hash is safe to store. */
export function createSecret(): string {
  return secretPrefix + randomBytes(32).toString('base64url')
}

export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}
