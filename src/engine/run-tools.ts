import { errorResult } from '../domain/advance.ts'
import { findTool, type RunState } from '../domain/run-state.ts'
import type { ToolCall, ToolResult } from '../domain/tool-call.ts'
import { executeTool } from '../tools/execute.ts'
import type { EngineContext } from './engine-context.ts'

export interface FinishedCall {
  readonly callId: string
  readonly status: 'SUCCEEDED' | 'FAILED' | 'CANCELLED'
  readonly result: ToolResult
}

/** The calls of a run that are running in this process. */
export class RunningTools {
  readonly #context: EngineContext
  readonly #signal: AbortSignal
  readonly #running = new Map<string, Promise<FinishedCall>>()

  /** Aborting the signal tells every tool to stop. */
  constructor(context: EngineContext, signal: AbortSignal) {
    this.#context = context
    this.#signal = signal
  }

  start(state: RunState, calls: readonly ToolCall[]): void {
    for (const call of calls) this.#running.set(call.id, this.#run(state, call))
  }

  /** The next call that is done, whichever it is. */
  async nextFinished(): Promise<FinishedCall> {
    const finished = await Promise.race(this.#running.values())
    this.#running.delete(finished.callId)
    return finished
  }

  async #run(state: RunState, call: ToolCall): Promise<FinishedCall> {
    const isOfClient = state.run.request.clientTools.some((tool) => tool.name === call.name)
    const execution = executeTool(this.#context.tools, {
      call,
      // What a tool of the request hides is not run, whatever became of the call.
      agentTool: isOfClient ? undefined : findTool(state, call.name),
      toolNames: state.tools.map(({ tool }) => tool.name),
      agentId: state.agent.id,
      signal: this.#signal,
    })
    const result = await this.#withinGrace(execution)
    if (!result)
      return { callId: call.id, status: 'CANCELLED', result: errorResult(cancelledText('It was told to stop.')) }
    if (result.status === 'SUCCESS') return { callId: call.id, status: 'SUCCEEDED', result }
    // One that fails once it was told to stop has stopped: it is no failure of its own.
    return this.#signal.aborted
      ? {
          callId: call.id,
          status: 'CANCELLED',
          result: { ...result, output: cancelledText(`It said: ${result.output}`) },
        }
      : { callId: call.id, status: 'FAILED', result }
  }

  /** Undefined where a tool goes on long after it was told to stop. What it does then is discarded. */
  async #withinGrace(execution: Promise<ToolResult>): Promise<ToolResult | undefined> {
    const { promise: givenUp, resolve } = Promise.withResolvers<undefined>()
    let timer: NodeJS.Timeout | undefined
    const onAbort = () => (timer = setTimeout(() => resolve(undefined), this.#context.toolGraceMs))
    this.#signal.addEventListener('abort', onAbort, { once: true })
    if (this.#signal.aborted) onAbort()
    try {
      return await Promise.race([execution, givenUp])
    } finally {
      clearTimeout(timer)
      this.#signal.removeEventListener('abort', onAbort)
    }
  }
}

function cancelledText(detail: string): string {
  return `The user cancelled the request while this tool was running. ${detail}`
}
