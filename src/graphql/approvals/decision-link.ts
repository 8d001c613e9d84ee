import { createDecisionLink, dayMs, type CreatedDecisionLink } from '../../commands/approvals/decision-links.ts'
import { mutation, payloadOf } from '../mutation.ts'
import { requireUuid } from '../node.ts'

mutation('createDecisionLink', {
  description:
    'An address where one named person decides one call, without a key. Needs APPROVE too, and HOLDPOINT_PUBLIC_URL. Revoking the API key that makes the link ends it.',
  input: {
    description: 'A link for one person and one call.',
    fields: (t) => ({
      toolCallId: t.id({ required: true, description: 'Id of a call that waits for approval.' }),
      personId: t.string({
        required: true,
        description:
          "The application's own id for the person, 1 to 200 characters. The decision names it (`Actor.id`).",
      }),
      personName: t.string({ required: true, description: 'Display name of the person, 1 to 200 characters.' }),
      validForMs: t.int({ description: 'How long the person can decide. Defaults to one day, at most seven days.' }),
    }),
  },
  result: payloadOf<CreatedDecisionLink>((t) => ({
    url: t.exposeString('url', { description: 'Whoever has it can decide as the person. It is not stored.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When the link expires.' }),
  })),
  resolve: ({ validForMs, ...input }, context) =>
    createDecisionLink(context, context.viewer, {
      ...input,
      toolCallId: requireUuid('ToolCall', input.toolCallId),
      validForMs: validForMs ?? dayMs,
    }),
})
