import { ClientError } from '../graphql/errors.ts'

/** More than the largest allowed JSON value and the rest of its request can have. */
const mostValues = 250_000

const quote = 0x22
const comma = 0x2c
const backslash = 0x5c

/**
 * Refuses JSON with so many values that parsing and checking it would keep the process busy for seconds: an object with
 * a million keys takes that long. Counts the commas outside of strings. Values without commas between them are nested
 * in each other, and too deep ones are refused quickly later.
 */
export function checkValueCount(json: string): void {
  // Each value and its comma take two characters.
  if (json.length < 2 * mostValues) return
  let count = 1
  let isText = false
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at)
    if (code === quote) isText = !isText
    else if (code === backslash) at += 1
    else if (code === comma && !isText) count += 1
    if (count > mostValues) throw tooManyValues()
  }
}

function tooManyValues(): ClientError {
  const message = `The request has more than ${mostValues} JSON values, which is the limit. Send several requests.`
  return new ClientError('BAD_REQUEST', message, { http: { status: 413 } })
}
