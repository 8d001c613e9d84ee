import { allowsParallelCalls } from '../runs/answer.ts'
import type { Block } from '../memory/block.ts'
import { nextCalls } from '../tools/call-check.ts'
import { toModelMessages, type ContextMessage } from './context.ts'
import type { ModelRequest, ModelTool, ToolChoice } from '../models/model-request.ts'
import { compileSystemPrompt } from './prompt.ts'
import { responseSchemaOf } from '../runs/response-schema.ts'
import { callsOfStep, findTool, type PromptState } from '../runs/run-state.ts'
import { cutReturns } from '../tools/tool-output.ts'

/**
 * The request for the run's next step. The context has the current calls. `window` is the maximum size of the agent's
 * context in tokens.
 */
export function buildModelRequest(
  state: PromptState,
  blocks: readonly Block[],
  context: readonly ContextMessage[],
  options: { readonly window: number; readonly now: Date },
): ModelRequest {
  const { tools, forced } = nextCalls(state)
  return {
    model: state.agent.model,
    systemPrompt: compileSystemPrompt(state.agent, blocks, options.now),
    messages: cutReturns(toModelMessages(context, state.agent), options.window),
    tools: toolsOf(state).filter(({ name }) => tools.includes(name)),
    toolChoice: forced ? forcedChoice(tools) : 'auto',
    parallelToolCalls: allowsParallelCalls(state),
    settings: { ...state.agent.modelSettings, responseSchema: responseSchemaOf(state) },
  }
}

function forcedChoice(tools: readonly string[]): ToolChoice {
  const [only, ...others] = tools
  if (only === undefined) return 'auto'
  return others.length === 0 ? { tool: only } : 'required'
}

/**
 * Replaces the calls of the run's own messages by their current state if they have changed since they were stored.
 */
export function withCurrentCalls(state: PromptState, entry: ContextMessage): ContextMessage {
  const { runId, stepIndex } = entry.message
  if (runId !== state.run.id || stepIndex === null) return entry
  const calls = callsOfStep(state, stepIndex)
  const isSame =
    calls.length === entry.callsOfStep.length && calls.every((call, place) => call === entry.callsOfStep[place])
  return isSame ? entry : { ...entry, callsOfStep: calls }
}

/** The agent's tools that no client tool hides, then the client tools of the request. */
function toolsOf(state: PromptState): ModelTool[] {
  const own = state.tools.filter((agentTool) => findTool(state, agentTool.tool.name) === agentTool)
  return [...own.map(({ tool }) => tool), ...state.run.request.clientTools].map(
    ({ name, description, parameters }) => ({ name, description, parameters }),
  )
}
