import { createHash } from 'node:crypto'

import { canonicalJson, type Json } from './json.ts'

/** The same for equal values, whatever the order of keys, and for no others. */
export function jsonHash(value: Json): string {
  return createHash('sha256').update(canonicalJson(value)).digest('base64url')
}
