import { maxAliasesPlugin } from '@escape.tech/graphql-armor-max-aliases'
import { maxDepthPlugin } from '@escape.tech/graphql-armor-max-depth'
import { maxDirectivesPlugin } from '@escape.tech/graphql-armor-max-directives'
import { maxTokensPlugin } from '@escape.tech/graphql-armor-max-tokens'
import {
  getOperationAST,
  getVariableValues,
  type ExecutionArgs,
  type ExecutionResult,
  type ValidationContext,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'

import { operationCost } from '../graphql/operation-cost.ts'
import { ClientError, toVariableError } from '../graphql/errors.ts'

/** One set for HTTP, server-sent events and WebSockets. */
export interface Limits {
  /** Levels of fields, fragments not counted. */
  readonly depth: number
  /** Fields that an answer (or one event of a subscription) may have where every list is full. */
  readonly cost: number
  readonly aliases: number
  readonly directives: number
  readonly tokens: number
  /** Of an HTTP body and of a WebSocket frame. */
  readonly requestBytes: number
  readonly operationsPerSocket: number
  /** How long a WebSocket may take nothing of what it is sent. */
  readonly stalledSocketMs: number
  /** How long a stream waits for a database that is unavailable, before it ends with UNAVAILABLE. */
  readonly unavailableMs: number
  /** How long what was opened with a key may outlive it. */
  readonly keyCheckMs: number
  /** Of queries and mutations; `waitMs` may hold one for five minutes. */
  readonly executionMs: number
}

/**
 * Cost: a page of 200 messages with the fields of every kind of message counts 30,000 (kinds are added up, though a message is of one kind), 200
 * agents with their tools and blocks 11,000; agents with runs with agents with runs, at 50 a page, 130,000. As plain fields 50,000 keep the process busy
 * for about a tenth of a second (20,000: 15 to 50 ms, measured on 2 cores). Introspection counts 1: graphql-js bounds it by itself.
 */
export const defaultLimits: Limits = {
  depth: 15,
  cost: 50_000,
  aliases: 30,
  directives: 10,
  tokens: 2_000,
  requestBytes: 256 * 1024,
  operationsPerSocket: 50,
  stalledSocketMs: 60_000,
  unavailableMs: 30_000,
  keyCheckMs: 5_000,
  executionMs: 330_000,
}

function tooComplex(message: string): ClientError {
  return new ClientError('OPERATION_TOO_COMPLEX', message)
}

/** Told of the document alone, so that the answer can be kept with it. */
export function documentLimits(limits: Limits): Plugin[] {
  // Reported, not thrown: what is thrown in validation comes out as an internal error.
  const report = {
    propagateOnRejection: false,
    onReject: [
      (context: ValidationContext | null, error: Error) =>
        context?.reportError(tooComplex(error.message.replace('Syntax Error: ', ''))),
    ],
  }
  const throwIt = {
    onReject: [
      () => {
        throw tooComplex(`Token limit of ${limits.tokens} exceeded: reading stopped there.`)
      },
    ],
  }
  return [
    maxTokensPlugin({ n: limits.tokens, ...throwIt }),
    // Flattened: a fragment is no level of its own, and unions and interfaces need many.
    maxDepthPlugin({ n: limits.depth, flattenFragments: true, ...report }),
    // An empty allowList, or aliases of __typename go uncounted.
    maxAliasesPlugin({ n: limits.aliases, allowList: [], ...report }),
    maxDirectivesPlugin({ n: limits.directives, ...report }),
  ]
}

/** Told before anything of the operation runs: which operation it is, its variables, and what it would cost. */
export function useOperationCheck(limits: Limits): Plugin {
  const check = ({ args, setResultAndStopExecution }: OperationHook): void => {
    const errors = operationErrors(args, limits)
    if (errors.length > 0) setResultAndStopExecution({ errors })
  }
  return { onExecute: check, onSubscribe: check }
}

interface OperationHook {
  readonly args: ExecutionArgs
  setResultAndStopExecution(result: ExecutionResult): void
}

function operationErrors(args: ExecutionArgs, limits: Limits): ClientError[] {
  const operation = getOperationAST(args.document, args.operationName)
  if (!operation) return [unknownOperation()]
  const definitions = operation.variableDefinitions ?? []
  const { errors } = getVariableValues(args.schema, definitions, args.variableValues ?? {}, { maxErrors: 10 })
  if (errors) return errors.map(toVariableError)
  const cost = operationCost(operation, args)
  if (cost <= limits.cost) return []
  return [
    tooComplex(`The operation costs ${cost}, the limit is ${limits.cost}. Ask for smaller pages or fewer fields.`),
  ]
}

export function unknownOperation(): ClientError {
  return new ClientError(
    'OPERATION_RESOLUTION_FAILURE',
    'Could not tell which operation to execute: `operationName` must name one of the document where it has several.',
  )
}

/** Answers in time. It does not undo: a mutation that was under way may still take effect. */
export function useExecutionTimeout(limits: Limits): Plugin {
  return {
    onExecute({ executeFn, setExecuteFn }) {
      setExecuteFn(async (args: ExecutionArgs) => {
        const { promise: expired, resolve } = Promise.withResolvers<ExecutionResult>()
        const timer = setTimeout(() => resolve({ errors: [timedOut(limits)] }), limits.executionMs)
        try {
          return await Promise.race([executeFn(args), expired])
        } finally {
          clearTimeout(timer)
        }
      })
    },
  }
}

function timedOut({ executionMs }: Limits): ClientError {
  const message = `The operation took longer than ${executionMs} ms. A mutation may still take effect.`
  return new ClientError('TIMEOUT', message)
}
