/** Points at which a server can be told to die. */
export const killPoints = [
  'after admission',
  'mid-stream',
  'before the answer is stored',
  'answer stored',
  'mid-tool',
  'asked before the step is stored',
  'before the end',
  'after the end',
] as const
/** Points that only a server that stores files reaches: within the transaction, and after its commit. */
export type KillPoint =
  (typeof killPoints)[number] | 'files written' | 'files committed' | FiringPoint | BudgetPoint | TellingPoint
/** Points of a schedule's due time: before its transaction, within it, and after its commit. */
export type FiringPoint = 'schedule watched' | 'schedule locked' | 'due run stored' | 'schedule moved on' | 'fired'
/** Points of a pause for a budget, and of what ends it. */
export type BudgetPoint = 'budgets locked' | 'allowance stored' | 'budget changed' | 'budget committed'
/** Points of a webhook's delivery: claimed and not sent, sent and not stored, and after it is stored. */
export type TellingPoint = 'delivery claimed' | 'delivery sent' | 'delivery stored'
