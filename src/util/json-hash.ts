import { createHash } from 'node:crypto'

import { canonicalJson, type Json } from './json.ts'

/** A hash that is the same for equal values, whatever the order of their keys. */
export function jsonHash(value: Json): string {
  return createHash('sha256').update(canonicalJson(value)).digest('base64url')
}
