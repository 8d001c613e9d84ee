import { createHash } from 'node:crypto'

import { canonicalJson } from './json.ts'

/** A hash that is equal for equal values, regardless of key order. */
export function jsonHash(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('base64url')
}
