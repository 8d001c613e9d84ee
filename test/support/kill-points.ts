/** Where a server can be told to die. */
export const killPoints = [
  'after admission',
  'mid-stream',
  'before the answer is stored',
  'answer stored',
  'mid-tool',
  'before the end',
  'after the end',
] as const
/** Where only one that is storing files gets to: within the transaction, and once it is committed. */
export type KillPoint = (typeof killPoints)[number] | 'files written' | 'files committed'
