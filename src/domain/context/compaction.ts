import type { CompactionSettings } from '../agents/agent.ts'
import type { ContextMessage, Unit } from './context.ts'
import { sum } from '../../util/tokens.ts'

/** A context above this share of the window is compacted before the model is asked. */
export const compactAbove = 0.9
/** A sliding window shrinks the context below this share, including the summary. */
const shrinkBelow = 0.7
/** Maximum share of the window for a summary. */
const summaryShare = 0.1
const evictionStep = 0.1
/** Minimum length of a useful summary, in tokens. */
const shortestSummary = 16

/**
 * Messages that stay or go together: all of one step, so that a call is never separated from its return, and each
 * message outside of steps by itself. The current summary is not among them, because every compaction replaces it.
 */
export function unitsOf(context: readonly ContextMessage[]): Unit[] {
  const messages = context.filter(({ message }) => message.type !== 'SUMMARY')
  const lastOfStep = new Map(messages.map((entry, index) => [stepKey(entry, index), index]))
  const units: [ContextMessage, ...ContextMessage[]][] = []
  let end = -1
  for (const [index, entry] of messages.entries()) {
    if (index > end) units.push([entry])
    else units.at(-1)?.push(entry)
    end = Math.max(end, lastOfStep.get(stepKey(entry, index)) ?? index)
  }
  return units
}

function stepKey({ message }: ContextMessage, index: number): string {
  return message.stepIndex === null ? `${index}` : `${message.runId} ${message.stepIndex}`
}

/**
 * The first unit that must stay, however large: what the model has not answered yet (the last input, and returns that
 * it has not read), and calls that have no return. Equals the number of units if none must stay.
 */
export function firstToStay(units: readonly Unit[], runId: string): number {
  const isOfRun = ({ message }: ContextMessage) => message.runId === runId
  const lastAnswered = units.findLastIndex(([entry]) => !isOfRun(entry) || !isInput(entry))
  const hasReturns = units[lastAnswered]?.some((entry) => isOfRun(entry) && entry.message.type === 'TOOL_RETURN')
  const first = hasReturns ? lastAnswered : lastAnswered + 1
  const waiting = units.findIndex(hasOpenCalls)
  return waiting < 0 ? first : Math.min(first, waiting)
}

function isInput({ message }: ContextMessage): boolean {
  return message.type === 'USER' || message.type === 'SYSTEM'
}

function hasOpenCalls(unit: Unit): boolean {
  const types = unit.map(({ message }) => message.type)
  return (types.includes('TOOL_CALL') || types.includes('APPROVAL_REQUEST')) && !types.includes('TOOL_RETURN')
}

/** The context without steps whose returns are missing, so that every call has its return. */
export function withoutOpenCalls(context: readonly ContextMessage[]): ContextMessage[] {
  const open = new Set(unitsOf(context).filter(hasOpenCalls).flat())
  return context.filter((entry) => !open.has(entry))
}

export interface CompactionTask {
  readonly units: readonly { readonly messages: number; readonly weight: number }[]
  /** From here on every unit stays. */
  readonly firstToStay: number
  /** Tokens of the system prompt and the tools, which cannot be compacted. */
  readonly fixed: number
  readonly window: number
  readonly settings: Pick<CompactionSettings, 'mode' | 'keepRatio'>
}

export interface CompactionPlan {
  /** How many units, oldest first, are summarised. */
  readonly evict: number
  /** Maximum length of the summary, in tokens. */
  readonly summaryTokens: number
}

/**
 * Where to cut. A sliding window removes the oldest share, then a tenth more at a time until the rest fits well. If
 * that is not possible, and in mode ALL, everything goes that may. Undefined if nothing may go, or if it would not
 * help.
 */
export function planCompaction(task: CompactionTask): CompactionPlan | undefined {
  if (task.firstToStay === 0) return undefined
  if (task.settings.mode === 'SLIDING_WINDOW') {
    const summaryTokens = Math.floor(task.window * summaryShare)
    for (let share = 1 - task.settings.keepRatio; share < 1; share += evictionStep) {
      const evict = unitsOfShare(task, share)
      if (evict >= task.firstToStay) break
      if (task.fixed + summaryTokens + keptWeight(task, evict) < task.window * shrinkBelow) {
        return { evict, summaryTokens }
      }
    }
  }
  return planToEvictAll(task)
}

function planToEvictAll(task: CompactionTask): CompactionPlan | undefined {
  const evict = task.firstToStay
  const room = task.window - task.fixed - keptWeight(task, evict)
  // Half of the free space is left for the answer.
  const summaryTokens = Math.floor(Math.min(task.window * summaryShare, room / 2))
  return summaryTokens < shortestSummary ? undefined : { evict, summaryTokens }
}

/** The smallest number of units, at least one, that make up this share of all messages. */
function unitsOfShare({ units }: CompactionTask, share: number): number {
  // Subtracts an epsilon: 0.3 * 10 is 2.9999…
  const wanted = share * sum(units, ({ messages }) => messages) - 1e-6
  let evicted = 0
  for (const [index, { messages }] of units.entries()) {
    evicted += messages
    if (evicted >= wanted) return index + 1
  }
  return units.length
}

function keptWeight({ units }: CompactionTask, evict: number): number {
  return sum(units.slice(evict), ({ weight }) => weight)
}
