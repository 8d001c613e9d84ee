import { badUserInput } from '../domain/errors.ts'
import { settleMessages, type OfferedFiles, type OfferedMessage } from '../domain/context/offered-content.ts'
import type { Viewer } from '../domain/access/viewer.ts'
import { findMessages } from '../store/conversations/messages.ts'
import type { AdmissionOutcome } from './admit.ts'
import type { CommandContext } from './command-context.ts'
import { found } from './found.ts'
import { keyedInput } from './idempotency.ts'
import { startVersion } from './start-version.ts'
import { checkSizes } from './store-files.ts'

export interface EditMessageInput {
  readonly messageId: string
  readonly message: OfferedMessage
  readonly files: OfferedFiles
  readonly idempotencyKey: string | null
}

/** Starts a new version of a run, with one of its input messages replaced. */
export async function editMessage(
  context: CommandContext,
  viewer: Viewer,
  { messageId, message, files, idempotencyKey: key }: EditMessageInput,
): Promise<AdmissionOutcome> {
  const { tenantId } = viewer
  checkSizes(context, files.brought)
  const [edited] = await findMessages(context.db, viewer, [messageId])
  const { runId, position } = found('Message', messageId, edited)
  return startVersion(context, viewer, {
    runId,
    field: 'input.messageId',
    // The conversation may be cleared meanwhile. The client named the message, not its run.
    subject: ['Message', messageId],
    keyed: key === null ? undefined : keyedInput({ tenantId, operation: 'EDIT_MESSAGE', key }, { messageId, message }),
    files,
    requestOf({ request, firstPosition }, found) {
      // A run's input messages are the first that it adds.
      const place = position - firstPosition!
      if (place >= request.messages.length) {
        throw badUserInput(
          'input.messageId',
          "The message is not part of a run's input. Expected a message that started one: a follow-up cannot be edited.",
        )
      }
      return { ...request, messages: request.messages.with(place, settleMessages([message], found)[0]!) }
    },
  })
}
