import { defaultFieldResolver, type GraphQLFieldResolver, type GraphQLSchema } from 'graphql'

import './access/api-key.ts'
import './access/audit-log.ts'
import { requireScopes } from './access/require-scopes.ts'
import './access/viewer.ts'
import './agents/agent-mutations.ts'
import './agents/agent.ts'
import './agents/import-agent.ts'
import './approvals/approval-inbox.ts'
import './approvals/decision-link.ts'
import './approvals/submit-approvals.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import './context/compact-conversation.ts'
import './context/compaction.ts'
import './context/context-view.ts'
import './conversations/branches.ts'
import './conversations/conversation-runs.ts'
import './conversations/conversation.ts'
import './conversations/fork-conversation.ts'
import './conversations/message.ts'
import './files/file.ts'
import './memory/block.ts'
import './memory/passage.ts'
import './memory/sleeptime-group.ts'
import './models/model-settings.ts'
import './models/model.ts'
import './node.ts'
import './refusal.ts'
import './runs/cancel-run.ts'
import './runs/retry-run.ts'
import './runs/run-event.ts'
import './runs/run-events.ts'
import './runs/run-queries.ts'
import './runs/run.ts'
import './runs/send-message.ts'
import './runs/step.ts'
import './runs/subscriptions.ts'
import './scalars.ts'
import './schedules/schedule.ts'
import './tools/agent-tool.ts'
import './tools/claim-tool-call.ts'
import './tools/mcp-server.ts'
import './tools/tool-call.ts'
import './tools/tool-rule.ts'
import './tools/tool.ts'
import './usage/budget.ts'
import './usage/usage.ts'
import './webhooks/webhook.ts'
import './worker.ts'

/** Importing a module adds its types to the builder. All of them are imported here. */
export const schema = requireScopes(readFresh(builder.toSchema()))

type Resolver = GraphQLFieldResolver<unknown, Context>

/**
 * Loaders cache rows, and a cached row must not outlive a change. The mutations of one document share its loaders, and
 * each may change what they hold, so everything that a mutation's result asks for is read after the mutation. A
 * subscription keeps its loaders as long as it lasts, so they are cleared before each event. Fields of these two roots
 * run one after another, so nothing is being loaded at that moment.
 */
function readFresh(schema: GraphQLSchema): GraphQLSchema {
  for (const field of Object.values(schema.getMutationType()?.getFields() ?? {})) {
    field.resolve = thenForget(field.resolve ?? defaultFieldResolver)
  }
  for (const field of Object.values(schema.getSubscriptionType()?.getFields() ?? {})) {
    if (field.subscribe) field.subscribe = thenForget(field.subscribe)
    field.resolve = forgetFirst(field.resolve ?? defaultFieldResolver)
  }
  return schema
}

function thenForget(resolve: Resolver): Resolver {
  return async (root, args, context, info) => {
    try {
      return await resolve(root, args, context, info)
    } finally {
      context.loaders.forget()
    }
  }
}

function forgetFirst(resolve: Resolver): Resolver {
  return (root, args, context, info) => {
    context.loaders.forget()
    return resolve(root, args, context, info)
  }
}
