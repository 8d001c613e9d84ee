/** Points at which a server can be told to die. */
export const killPoints = [
  'after admission',
  'mid-stream',
  'before the answer is stored',
  'answer stored',
  'mid-tool',
  'before the end',
  'after the end',
] as const
/** Points that only a server that stores files reaches: within the transaction, and after its commit. */
export type KillPoint = (typeof killPoints)[number] | 'files written' | 'files committed'
