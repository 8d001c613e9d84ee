import { allowsParallelCalls } from '../domain/answer.ts'
import type { Block } from '../domain/block.ts'
import { toModelMessages, type ContextMessage } from '../domain/context.ts'
import type { ModelRequest, ModelTool } from '../domain/model-request.ts'
import { compileSystemPrompt } from '../domain/prompt.ts'
import { callsOfStep, type RunState } from '../domain/run-state.ts'

/** What the model is to be sent for the run's next step. */
export function buildModelRequest(
  state: RunState,
  blocks: readonly Block[],
  context: readonly ContextMessage[],
): ModelRequest {
  return {
    model: state.agent.model,
    systemPrompt: compileSystemPrompt(state.agent, blocks),
    messages: toModelMessages(context.map((entry) => withCurrentCalls(state, entry))),
    tools: toolsOf(state),
    parallelToolCalls: allowsParallelCalls(state),
    settings: state.agent.modelSettings,
  }
}

/** The run's own calls have changed since their messages were stored: what they came to is in the state. */
function withCurrentCalls(state: RunState, entry: ContextMessage): ContextMessage {
  const { runId, stepIndex } = entry.message
  if (runId !== state.run.id || stepIndex === null) return entry
  return { ...entry, callsOfStep: callsOfStep(state, stepIndex) }
}

/** The agent's tools and the request's; a client tool hides the server's tool of its name. */
function toolsOf(state: RunState): ModelTool[] {
  const { clientTools } = state.run.request
  const own = state.tools
    .map(({ tool }) => tool)
    .filter((tool) => !clientTools.some((clientTool) => clientTool.name === tool.name))
  return [...own, ...clientTools].map(({ name, description, parameters }) => ({ name, description, parameters }))
}
