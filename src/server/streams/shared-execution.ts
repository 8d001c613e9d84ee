import {
  createSourceEventStream,
  execute,
  getOperationAST,
  visit,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLError,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'

import { isTransientError, toClientError } from '../../graphql/errors.ts'
import type { Log } from '../../util/log.ts'
import { keepNewest } from '../../util/keep-newest.ts'
import { retryTransient } from '../../util/retry-transient.ts'
import { contextOf } from '../operation-context.ts'
import { preparePlainExecution } from './plain-execution.ts'

/**
 * The results of a subscription: as objects, or one by one as JSON. If the database is unavailable while an event is
 * executed, the event is executed again; when patience runs out, the stream fails. No event is ever skipped, so a
 * client that resumes at the cursor of its last event misses nothing.
 */
export class SharedStream implements AsyncIterableIterator<ExecutionResult> {
  readonly #events: AsyncIterator<unknown>
  readonly #execute: Execute
  readonly #patienceMs: number
  readonly #release: () => void
  readonly #closing = new AbortController()

  constructor(
    events: AsyncIterable<unknown>,
    execute: Execute,
    { patienceMs, release }: { readonly patienceMs: number; readonly release: () => void },
  ) {
    this.#events = events[Symbol.asyncIterator]()
    this.#execute = execute
    this.#patienceMs = patienceMs
    this.#release = release
  }

  nextEvent(): Promise<IteratorResult<unknown>> {
    return this.#events.next()
  }

  /** The result of an event as JSON. */
  textOf(event: unknown): string | Promise<string> {
    const executed = this.#execute(event)
    if (!(executed instanceof Promise) && executed.failure === undefined) return executed.text
    return this.#retry(event, executed).then(({ text }) => text)
  }

  async next(): Promise<IteratorResult<ExecutionResult, undefined>> {
    // Yoga asks again after a failure, but what follows the failed event must not be delivered.
    if (this.#closing.signal.aborted) return { done: true, value: undefined }
    const { done, value } = await this.#events.next()
    if (done) {
      this.#release()
      return { done, value: undefined }
    }
    const { result } = await this.#retry(value, this.#execute(value))
    return { done: false, value: result }
  }

  async return(): Promise<IteratorResult<ExecutionResult, undefined>> {
    await this.#close()
    return { done: true, value: undefined }
  }

  async throw(error: unknown): Promise<IteratorResult<ExecutionResult, undefined>> {
    await this.#close()
    throw error
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** Waits for the first execution, and repeats it as long as the database is unavailable. */
  async #retry(event: unknown, first: Execution): Promise<Executed> {
    let attempt: Execution | undefined = first
    const work = async (): Promise<Executed> => {
      const executed = await (attempt ?? this.#execute(event))
      attempt = undefined
      if (executed.failure !== undefined) throw executed.failure
      return executed
    }
    const options = { isTransient: isTransientError, patienceMs: this.#patienceMs, signal: this.#closing.signal }
    try {
      return await retryTransient(work, options)
    } catch (error) {
      await this.#close()
      throw error
    }
  }

  async #close(): Promise<void> {
    this.#closing.abort()
    this.#release()
    await this.#events.return?.()
  }
}

type Execution = Executed | Promise<Executed>
type Execute = (event: unknown) => Execution

/** The result of one event for one operation. */
class Executed {
  readonly result: ExecutionResult
  /** Set if the database was unavailable: the result must not be delivered, and the event is executed again. */
  readonly failure: GraphQLError | undefined
  readonly at = performance.now()
  #text: string | undefined

  constructor(result: ExecutionResult, log: Log) {
    this.failure = result.errors?.find(isTransientError)
    this.result = result.errors
      ? { ...result, errors: result.errors.map((error) => toClientError(error, log)) }
      : result
  }

  /** The result as JSON, serialised when it is first needed. */
  get text(): string {
    return (this.#text ??= JSON.stringify(this.result))
  }
}

/** Events show the current state of objects, so a result older than this is not shared. */
const freshMs = 50
/** How many events to remember. A WeakMap with an entry for every event would keep the garbage collector busy. */
const keptEvents = 256

interface SharedExecutionOptions {
  readonly patienceMs: number
  /** Counts a subscription. Throws if the client has too many. Returns the function to call when it has ended. */
  readonly openSubscription: (context: { readonly viewer?: unknown }) => () => void
}

/** Only the first call counts. */
function once(call: () => void): () => void {
  let done = false
  return () => {
    if (done) return
    done = true
    call()
  }
}

/**
 * Subscribers that get the same event, ask for the same fields and have the same rights share one execution of it. The
 * arguments of the subscription itself do not matter: they select the events, and every subscriber has its own cursor.
 */
export function createSharedExecution(log: Log, options: SharedExecutionOptions) {
  const streams = new WeakMap<object, SharedStream>()
  const executions = new Map<object, Map<string, Execution>>()
  const documents = new WeakMap<DocumentNode, { readonly number: number; readonly variables: readonly string[] }>()
  let documentCount = 0

  async function subscribe(args: ExecutionArgs): Promise<ExecutionResult | SharedStream> {
    const release = once(options.openSubscription(contextOf(args)))
    const events = await createSourceEventStream(args).catch((error: unknown) => {
      release()
      throw error
    })
    if (!(Symbol.asyncIterator in events)) {
      release()
      return events
    }
    const key = keyOf(args)
    const executeOnce = executor(args)
    const stream = new SharedStream(events, (event) => executeShared(event, key, executeOnce), {
      patienceMs: options.patienceMs,
      release,
    })
    streams.set(contextOf(args), stream)
    return stream
  }

  function executeShared(event: unknown, key: string, executeOnce: Execute): Execution {
    // Two objects with equal contents are two events; two equal numbers or texts cannot be told apart.
    if (typeof event !== 'object' || event === null) return executeOnce(event)
    const known = executions.get(event) ?? new Map<string, Execution>()
    const earlier = known.get(key)
    if (earlier && (earlier instanceof Promise || performance.now() - earlier.at < freshMs)) return earlier
    const executed = executeOnce(event)
    executions.set(event, known.set(key, executed))
    keepNewest(executions, keptEvents)
    if (executed instanceof Promise) {
      executed.then(
        (settled) => (settled.failure === undefined ? known.set(key, settled) : known.delete(key)),
        () => known.delete(key),
      )
    }
    return executed
  }

  function executor(args: ExecutionArgs): Execute {
    const executePlain = preparePlainExecution(args)
    return (event) => {
      const result = executePlain(event) ?? execute({ ...args, rootValue: event })
      return result instanceof Promise
        ? result.then((settled) => new Executed(settled, log))
        : new Executed(result, log)
    }
  }

  function keyOf(args: ExecutionArgs): string {
    const { document, operationName, variableValues } = args
    const known = documents.get(document) ?? { number: (documentCount += 1), variables: inner(document, operationName) }
    documents.set(document, known)
    // Includes the names: an omitted variable takes its default, and null does not.
    const values = known.variables.map((name) => ({ [name]: variableValues?.[name] }))
    return JSON.stringify([known.number, operationName, values, contextOf(args).viewer])
  }

  const plugin: Plugin = { onSubscribe: ({ setSubscribeFn }) => setSubscribeFn(subscribe) }
  return {
    plugin,
    /** The stream that was opened in this context, without the wrappers that plugins added. */
    streamOf: (args: Pick<ExecutionArgs, 'contextValue'>): SharedStream | undefined => streams.get(contextOf(args)),
  }
}

export type SharedExecution = ReturnType<typeof createSharedExecution>

/** The variables that an operation uses anywhere except in the arguments of the subscription itself. */
function inner(document: DocumentNode, operationName: string | null | undefined): string[] {
  const operation = getOperationAST(document, operationName)
  const names = new Set<string>()
  visit(document, {
    VariableDefinition: () => false,
    Field: (field) => {
      if (!operation?.selectionSet.selections.includes(field)) return
      for (const selection of field.selectionSet?.selections ?? []) collect(selection, names)
      for (const directive of field.directives ?? []) collect(directive, names)
      return false
    },
    Variable: ({ name }) => void names.add(name.value),
  })
  return [...names].toSorted()
}

function collect(node: Parameters<typeof visit>[0], names: Set<string>): void {
  visit(node, { Variable: ({ name }) => void names.add(name.value) })
}
