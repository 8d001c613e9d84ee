import {
  createSourceEventStream,
  execute,
  getOperationAST,
  visit,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'

import { toClientError } from '../graphql/errors.ts'
import type { Log } from '../util/log.ts'
import { preparePlainExecution } from './plain-execution.ts'

/** The results of a subscription, and the same as JSON. */
export class SharedStream implements AsyncIterableIterator<ExecutionResult> {
  readonly #events: AsyncIterator<unknown>
  readonly #execute: (event: unknown) => Executed | Promise<Executed>

  constructor(events: AsyncIterable<unknown>, execute: (event: unknown) => Executed | Promise<Executed>) {
    this.#events = events[Symbol.asyncIterator]()
    this.#execute = execute
  }

  nextEvent(): Promise<IteratorResult<unknown>> {
    return this.#events.next()
  }

  /** The result of an event as JSON. */
  textOf(event: unknown): string | Promise<string> {
    const executed = this.#execute(event)
    return executed instanceof Promise ? executed.then(({ text }) => text) : executed.text
  }

  async next(): Promise<IteratorResult<ExecutionResult, undefined>> {
    const { done, value } = await this.#events.next()
    return done ? { done, value: undefined } : { done: false, value: (await this.#execute(value)).result }
  }

  async return(): Promise<IteratorResult<ExecutionResult, undefined>> {
    await this.#events.return?.()
    return { done: true, value: undefined }
  }

  async throw(error: unknown): Promise<IteratorResult<ExecutionResult, undefined>> {
    await this.#events.return?.()
    throw error
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}

/** What came of an event for an operation. Written as JSON once, where anyone asks for it. */
class Executed {
  readonly result: ExecutionResult
  readonly at = performance.now()
  #text: string | undefined

  constructor(result: ExecutionResult) {
    this.result = result
  }

  get text(): string {
    return (this.#text ??= JSON.stringify(this.result))
  }
}

/** Entities are shown as they are now: what was executed longer ago than this is not shown to others. */
const freshMs = 50
/** So many events are remembered. Not weakly: a weak map of as many as there are would keep the collector busy. */
const keptEvents = 256

/**
 * Subscribers that are given the same event, ask for the same fields and have the same rights share one execution
 * of it. The arguments of the subscription itself do not count: they decide which events there are, and a cursor
 * is different for everyone.
 */
export function createSharedExecution(log: Log) {
  const streams = new WeakMap<object, SharedStream>()
  const executions = new Map<object, Map<string, Executed | Promise<Executed>>>()
  const documents = new WeakMap<DocumentNode, { readonly number: number; readonly variables: readonly string[] }>()
  let documentCount = 0

  async function subscribe(args: ExecutionArgs): Promise<ExecutionResult | SharedStream> {
    const events = await createSourceEventStream(args)
    if (!(Symbol.asyncIterator in events)) return events
    const key = keyOf(args)
    const executeOnce = executor(args)
    const stream = new SharedStream(events, (event) => executeShared(event, key, executeOnce))
    streams.set(args.contextValue as object, stream)
    return stream
  }

  function executeShared(
    event: unknown,
    key: string,
    executeOnce: (event: unknown) => Executed | Promise<Executed>,
  ): Executed | Promise<Executed> {
    // Only objects can be told apart from others that look the same.
    if (typeof event !== 'object' || event === null) return executeOnce(event)
    const known = executions.get(event) ?? new Map<string, Executed | Promise<Executed>>()
    const earlier = known.get(key)
    if (earlier && (earlier instanceof Promise || performance.now() - earlier.at < freshMs)) return earlier
    const executed = executeOnce(event)
    executions.set(event, known.set(key, executed))
    if (executions.size > keptEvents) executions.delete(executions.keys().next().value!)
    if (executed instanceof Promise) executed.then((settled) => known.set(key, settled)).catch(() => {})
    return executed
  }

  function executor(args: ExecutionArgs): (event: unknown) => Executed | Promise<Executed> {
    const executePlain = preparePlainExecution(args)
    return (event) => {
      const result = executePlain(event) ?? execute({ ...args, rootValue: event })
      return result instanceof Promise
        ? result.then((settled) => new Executed(withCodes(settled)))
        : new Executed(withCodes(result))
    }
  }

  function withCodes(result: ExecutionResult): ExecutionResult {
    return result.errors ? { ...result, errors: result.errors.map((error) => toClientError(error, log)) } : result
  }

  function keyOf({ document, operationName, variableValues, contextValue }: ExecutionArgs): string {
    const known = documents.get(document) ?? { number: (documentCount += 1), variables: inner(document, operationName) }
    documents.set(document, known)
    // Named, because one that is left out takes its default, and null does not.
    const values = known.variables.map((name) => ({ [name]: variableValues?.[name] }))
    return JSON.stringify([known.number, operationName, values, (contextValue as { viewer?: unknown }).viewer])
  }

  const plugin: Plugin = { onSubscribe: ({ setSubscribeFn }) => setSubscribeFn(subscribe) }
  return {
    plugin,
    /** The stream that was opened in this context, as it is below whatever has been wrapped around it. */
    streamOf: (context: unknown): SharedStream | undefined => streams.get(context as object),
  }
}

export type SharedExecution = ReturnType<typeof createSharedExecution>

/** The variables that a document uses anywhere but in the arguments of the subscription itself. */
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
