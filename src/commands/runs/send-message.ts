import {
  hasFiles,
  noFiles,
  settleMessages,
  type OfferedFiles,
  type OfferedMessage,
} from '../../domain/context/offered-content.ts'
import { runDefaults, type ClientTool } from '../../domain/runs/run.ts'
import type { Target } from '../../domain/conversations/conversation.ts'
import type { Viewer } from '../../domain/access/viewer.ts'
import type { Json, JsonObject } from '../../util/json.ts'
import { admit, newRun, type AdmissionOutcome, type WhenBusy } from './admit.ts'
import type { CommandContext } from '../command-context.ts'
import type { KeyedInput } from '../idempotency.ts'
import { checkSizes } from '../files/store-files.ts'

export interface SendMessageInput {
  readonly to: Target
  readonly messages: readonly OfferedMessage[]
  /** Files that the messages include or name. */
  readonly files?: OfferedFiles
  readonly clientTools: readonly ClientTool[]
  readonly maxSteps: number | null
  readonly maxTotalTokens: number | null
  /** Undefined means the agent's response schema, null means free text. */
  readonly responseSchema?: Json
  readonly whenBusy: WhenBusy
  readonly keyed?: KeyedInput | undefined
  readonly metadata: JsonObject
}

/** Stores the message as a run. */
export function sendMessage(
  context: CommandContext,
  viewer: Viewer,
  input: SendMessageInput,
): Promise<AdmissionOutcome> {
  const { tenantId } = viewer
  const { files = noFiles } = input
  checkSizes(context, files.brought)
  const content = hasFiles(files) ? { messages: input.messages, files } : undefined
  const run = newRun(context, {
    tenantId,
    sentBy: viewer.actor,
    urgent: input.whenBusy === 'INTERRUPT',
    maxSteps: input.maxSteps ?? runDefaults.maxSteps,
    maxTotalTokens: input.maxTotalTokens,
    request: {
      messages: content ? [] : settleMessages(input.messages, new Map()),
      clientTools: input.clientTools,
      ...(input.responseSchema !== undefined && { responseSchema: input.responseSchema }),
    },
    metadata: input.metadata,
  })
  return admit(context, viewer, { to: input.to, whenBusy: input.whenBusy, keyed: input.keyed, content }, run)
}
