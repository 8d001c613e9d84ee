import { hasFiles, noFiles, settleMessages, type OfferedFiles, type OfferedMessage } from '../domain/context/offered-content.ts'
import { runDefaults, type ClientTool } from '../domain/run.ts'
import type { Target } from '../domain/conversations/target.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import type { Json, JsonObject } from '../util/json.ts'
import { admit, type AdmissionOutcome, type WhenBusy } from './admit.ts'
import type { CommandContext } from './command-context.ts'
import { keyedInput } from './idempotency.ts'
import { checkSizes } from './store-files.ts'

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
  readonly idempotencyKey: string | null
  readonly metadata: JsonObject
}

/** Stores the message as a run. */
export function sendMessage(
  context: CommandContext,
  viewer: Viewer,
  input: SendMessageInput,
): Promise<AdmissionOutcome> {
  const { tenantId } = viewer
  const { idempotencyKey: key, files = noFiles, ...asked } = input
  checkSizes(context, files.brought)
  const content = hasFiles(files) ? { messages: input.messages, files } : undefined
  const keyed = key === null ? undefined : keyedInput({ tenantId, operation: 'SEND_MESSAGE', key }, asked)
  return admit(
    context,
    viewer,
    { to: input.to, whenBusy: input.whenBusy, keyed, content },
    {
      id: context.ids.next(),
      tenantId,
      kind: 'TURN',
      parentId: null,
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
      createdAt: context.clock.now(),
    },
  )
}
