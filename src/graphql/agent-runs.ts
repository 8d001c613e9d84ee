import { Agent } from './agent.ts'
import { builder } from './builder.ts'
import { pageArguments, pageComplexity } from './connection.ts'
import { StopReason } from './run-outcome.ts'
import { RunConnection, RunFilter, runsPage } from './run-queries.ts'

builder.objectFields(Agent, (t) => ({
  runs: t.field({
    type: RunConnection,
    description: 'Runs in all conversations of the agent, newest first.',
    args: { ...pageArguments, filter: t.arg({ type: RunFilter, description: 'Which runs to list. Omit it for all.' }) },
    complexity: pageComplexity,
    resolve: (agent, { filter, ...page }, context) => runsPage(context, { filter, page, of: { agentId: agent.id } }),
  }),
  lastStopReason: t.field({
    type: StopReason,
    nullable: true,
    description: 'Why a run of the agent most recently paused or ended. Null if none has.',
    resolve: (agent, _args, context) => context.loaders.lastStopReasonOfAgent.load(agent.id),
  }),
}))
