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
    const execution = executeTool(this.#context.tools, {
      call,
      agentTool: findTool(state, call.name),
      toolNames: state.tools.map(({ tool }) => tool.name),
      agentId: state.agent.id,
      signal: this.#signal,
    }).then((result): FinishedCall => {
      return { callId: call.id, status: result.status === 'SUCCESS' ? 'SUCCEEDED' : 'FAILED', result }
    })
    return Promise.race([execution, this.#cancelled(call)])
  }

  /** A tool that ignores its signal doesn't hold the cancel back: what it does later is discarded. */
  #cancelled(call: ToolCall): Promise<FinishedCall> {
    const { promise, resolve } = Promise.withResolvers<FinishedCall>()
    const result = errorResult('The user cancelled the request while this tool was running. It was told to stop.')
    const giveUp = () => {
      setTimeout(() => resolve({ callId: call.id, status: 'CANCELLED', result }), this.#context.toolGraceMs)
    }
    if (this.#signal.aborted) giveUp()
    else this.#signal.addEventListener('abort', giveUp, { once: true })
    return promise
  }
}
