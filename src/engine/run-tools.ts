import { errorResult } from '../domain/runs/advance.ts'
import type { BlockWrite } from '../domain/memory/block.ts'
import type { ArchiveWrite } from '../domain/memory/passage.ts'
import type { NewFile } from '../domain/files/file.ts'
import { findTool, type RunState } from '../domain/runs/run-state.ts'
import type { ToolCall, ToolCallProgress, ToolResult } from '../domain/tools/tool-call.ts'
import type { Executed } from '../tools/toolbox.ts'
import { onAbort } from '../util/abort.ts'
import type { EngineContext } from './engine-context.ts'

export interface FinishedCall {
  readonly callId: string
  readonly status: 'SUCCEEDED' | 'FAILED' | 'CANCELLED'
  readonly result: ToolResult
  /** Block writes that are stored in the same checkpoint as the result. */
  readonly writes: readonly BlockWrite[]
  /** Passages that are stored in the same checkpoint as the result. */
  readonly passages: readonly ArchiveWrite[]
  /** Files that the result refers to, stored in the same checkpoint. */
  readonly files: readonly NewFile[]
}

/** The versions of the blocks that the model was shown, by id. */
export type SeenBlocks = ReadonlyMap<string, number>

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

  start(state: RunState, calls: readonly ToolCall[], seenBlocks: SeenBlocks): void {
    for (const call of calls) this.#running.set(call.id, this.#run(state, call, seenBlocks))
  }

  /** Waits for any of the running calls to finish. */
  async nextFinished(): Promise<FinishedCall> {
    const finished = await Promise.race(this.#running.values())
    this.#running.delete(finished.callId)
    return finished
  }

  async #run(state: RunState, call: ToolCall, seenBlocks: SeenBlocks): Promise<FinishedCall> {
    const report = this.#reporter(state.run.id, call.id)
    const execution = this.#context.tools.execute({
      call,
      tool: findTool(state, call.name)?.tool,
      agent: state.agent,
      run: state.run,
      step: state.steps[call.stepIndex]!,
      seenBlocks,
      signal: this.#signal,
      onProgress: report.progress,
    })
    const executed = await this.#withinGrace(execution)
    report.end()
    if (!executed) return cancelled(call, errorResult(cancelledText('It was told to stop.')))
    const { result, files } = executed
    if (result.status === 'SUCCESS') return { callId: call.id, status: 'SUCCEEDED', ...executed }
    // A tool that fails after it was told to stop has stopped as asked. That is not a failure.
    if (!this.#signal.aborted) return { callId: call.id, status: 'FAILED', result, writes: [], passages: [], files }
    const { content: _content, json: _json, ...text } = result
    return cancelled(call, { ...text, output: cancelledText(`It said: ${result.output}`) })
  }

  /** Passes on the first report at once, and then the latest one, at most four times a second. */
  #reporter(runId: string, callId: string) {
    const { hub } = this.#context
    let latest: ToolCallProgress | undefined
    let timer: NodeJS.Timeout | undefined
    let hasReported = false
    let isOver = false
    const send = (): void => {
      timer = undefined
      if (!latest) return
      hub.progressed(runId, callId, latest)
      latest = undefined
      timer = setTimeout(send, 250)
    }
    return {
      progress: (progress: ToolCallProgress): void => {
        if (isOver) return
        hasReported = true
        latest = progress
        if (!timer) send()
      },
      end: (): void => {
        isOver = true
        clearTimeout(timer)
        if (hasReported) hub.progressed(runId, callId, undefined)
      },
    }
  }

  /** Returns undefined if a tool continues for too long after it was told to stop. Its later result is discarded. */
  async #withinGrace(execution: Promise<Executed>): Promise<Executed | undefined> {
    const { promise: givenUp, resolve } = Promise.withResolvers<undefined>()
    let timer: NodeJS.Timeout | undefined
    const stopListening = onAbort(this.#signal, () => {
      timer = setTimeout(() => resolve(undefined), this.#context.toolGraceMs)
    })
    try {
      return await Promise.race([execution, givenUp])
    } finally {
      clearTimeout(timer)
      stopListening()
    }
  }
}

function cancelled(call: ToolCall, result: ToolResult): FinishedCall {
  return { callId: call.id, status: 'CANCELLED', result, writes: [], passages: [], files: [] }
}

function cancelledText(detail: string): string {
  return `The user cancelled the request while this tool was running. ${detail}`
}
