/**
 * Whether the long version of a test runs: `npm run test:long`, with the tests that a change concerns, such as
 * `npm run test:long -- test/crash`.
 */
export const isLong = process.env['HOLDPOINT_LONG'] === '1'

/** Runs of a property, or anything else that a long version has more of. */
export function longer<Value>(short: Value, long: Value): Value {
  return isLong ? long : short
}
