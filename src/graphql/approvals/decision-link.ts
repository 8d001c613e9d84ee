import { createDecisionLink, dayMs } from '../../commands/approvals/decision-links.ts'
import { id, int, string, time } from '../fields.ts'
import { mutation, payloadOf } from '../mutation.ts'
import { requireUuid } from '../node.ts'

mutation('createDecisionLink', {
  description:
    'An address where one named person decides one call, without a key. Needs APPROVE too, and HOLDPOINT_PUBLIC_URL. Revoking the API key that makes the link ends it.',
  input: {
    description: 'A link for one person and one call.',
    fields: {
      toolCallId: id.required('Id of a call that waits for approval.'),
      personId: string.required(
        "The application's own id for the person, 1 to 200 characters. The decision names it (`Actor.id`).",
      ),
      personName: string.required('Display name of the person, 1 to 200 characters.'),
      validForMs: int('How long the person can decide. Defaults to one day, at most seven days.'),
    },
  },
  result: payloadOf({
    url: string('Whoever has it can decide as the person. It is not stored.'),
    expiresAt: time('When the link expires.'),
  }),
  resolve: ({ validForMs, ...input }, context) =>
    createDecisionLink(context, context.viewer, {
      ...input,
      toolCallId: requireUuid('ToolCall', input.toolCallId),
      validForMs: validForMs ?? dayMs,
    }),
})
