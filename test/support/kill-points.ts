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
export type KillPoint = (typeof killPoints)[number]
