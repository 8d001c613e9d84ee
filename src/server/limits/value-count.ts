import { ClientError } from '../../graphql/errors.ts'

/** More than the largest allowed JSON value and the rest of its request can have. */
const mostValues = 150_000
/** Of these, how many keys may be in objects with more keys than `fewKeys`. V8 takes ten times longer for them. */
const mostKeys = 40_000
const fewKeys = 100

const quote = 0x22
const comma = 0x2c
const backslash = 0x5c
const openBrace = 0x7b
const openBracket = 0x5b
const closeBrace = 0x7d
const closeBracket = 0x5d

/**
 * Refuses JSON with so many values or keys that parsing and checking it would hold up other requests. Counts what a
 * value follows outside of strings: commas, and the brackets that open what is not empty.
 */
export function checkValueCount(json: string): void {
  // Each value and its comma take two characters.
  if (json.length < 2 * mostKeys) return
  let values = 1
  let keys = 0
  let isText = false
  /** Commas of the objects that are open, and of lists from far below zero. */
  const open: number[] = []
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at)
    if (code === quote) isText = !isText
    else if (code === backslash) at += 1
    else if (isText) continue
    else if (isOpening(code)) {
      values += 1
      open.push(code === openBrace ? 0 : -Infinity)
    } else if (code === closeBrace || code === closeBracket) {
      if (isOpening(json.charCodeAt(at - 1))) values -= 1
      open.pop()
    } else if (code === comma) {
      values += 1
      const commas = (open.pop() ?? 0) + 1
      open.push(commas)
      if (commas > fewKeys) keys += 1
      if (keys > mostKeys) throw tooMany(`${mostKeys} keys in large JSON objects`)
    }
    if (values > mostValues) throw tooMany(`${mostValues} JSON values`)
  }
}

function isOpening(code: number): boolean {
  return code === openBrace || code === openBracket
}

function tooMany(what: string): ClientError {
  const message = `The request has more than ${what}, which is the limit. Send several requests.`
  return new ClientError('BAD_REQUEST', message, { http: { status: 413 } })
}
