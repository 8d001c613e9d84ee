import { parseStorable, sameJson, type Json } from '../../util/json.ts'
import { notesOfApprovals, type ApprovableCall } from '../approvals/call-approvals.ts'
import type { ToolCall } from './tool-call.ts'

/** How a call differs from what the model wrote. */
export interface ChangedArguments {
  readonly by: 'a person' | 'a tool rule'
  /** The arguments that the call ran with. */
  readonly ran: string
}

type Call = Pick<ToolCall, 'argumentsText' | 'arguments' | 'editedArguments'>

/** Remembered by call, because calls do not change and every request shows all calls of the context. */
const changes = new WeakMap<Call, ChangedArguments | null>()

/** Undefined if the call runs with the arguments that the model wrote. */
export function changedArguments(call: Call): ChangedArguments | undefined {
  let change = changes.get(call)
  if (change === undefined) {
    change = compareArguments(call) ?? null
    changes.set(call, change)
  }
  return change ?? undefined
}

function compareArguments(call: Call): ChangedArguments | undefined {
  const { argumentsText, arguments: used, editedArguments } = call
  const written = parseArguments(argumentsText)
  if (editedArguments !== null && !sameJson(editedArguments, written)) {
    return { by: 'a person', ran: JSON.stringify(editedArguments) }
  }
  // Text that is not JSON has no arguments, so none were changed.
  if (used === null || sameJson(used, written)) return undefined
  return { by: 'a tool rule', ran: JSON.stringify(used) }
}

/** The arguments that the call ran with, or will run with unless someone changes them. */
export function argumentsThatRan(call: Call): string {
  return changedArguments(call)?.ran ?? call.argumentsText
}

/** What the model must know about its call besides the result, in whole sentences. */
export function notesOf(call: ApprovableCall & Call): string[] {
  const changed = changedArguments(call)
  return [
    ...(changed
      ? [
          `The arguments of this call were changed by ${changed.by} before it ran: it ran with ${changed.ran}. You had written ${call.argumentsText.trim() || 'no arguments'}.`,
        ]
      : []),
    ...notesOfApprovals(call).map((note) => `The person who approved this call says: ${note}`),
  ]
}

/** The arguments that a model wrote. Empty text means none. Undefined if the text is not JSON or cannot be stored. */
export function parseArguments(text: string): Json | undefined {
  return text.trim() === '' ? {} : parseStorable(text)
}
