import {
  getOperationAST,
  getVariableValues,
  type ExecutionArgs,
  type ExecutionResult,
  type OperationDefinitionNode,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'

import { ClientError, toVariableError } from '../../graphql/errors.ts'
import { introspectionCost } from '../../graphql/introspection-cost.ts'
import { operationCost } from '../../graphql/operation-cost.ts'
import type { ClientLimits } from './client-limits.ts'
import { contextOf } from '../operation-context.ts'
import { tooComplex, type Limits } from './limits.ts'
import { faultOfSize } from './variable-size.ts'

/**
 * Checks the operation's name, its variables, its depth and its cost before any resolver runs. Shows the cost to clients
 * that ask for it.
 */
export function useOperationCheck(limits: Limits, clients: Pick<ClientLimits, 'requestsOf'>): Plugin {
  const check = (args: ExecutionArgs): CheckedOperation => {
    const { cost, errors } = checkOperation(args, limits)
    const context = contextOf(args)
    if (cost === undefined) return { refusal: errors && { errors } }
    const { request, key = request?.headers.get('authorization') ?? null } = context
    const rateLimit = () => ({ cost, costLimit: limits.cost, ...clients.requestsOf(key) })
    context.rateLimit = rateLimit
    if (request?.headers.get('x-holdpoint-cost') !== '1') return { refusal: errors && { errors } }
    const withCost = (result: ExecutionResult): ExecutionResult => ({
      ...result,
      extensions: { ...result.extensions, cost: rateLimit() },
    })
    return { refusal: errors && withCost({ errors }), withCost }
  }
  return {
    onExecute({ args, setResultAndStopExecution }) {
      const { refusal, withCost } = check(args)
      if (refusal) setResultAndStopExecution(refusal)
      if (!withCost) return undefined
      return { onExecuteDone: ({ result, setResult }) => setResult(withCost(result as ExecutionResult)) }
    },
    onSubscribe({ args, setResultAndStopExecution }) {
      const { refusal, withCost } = check(args)
      if (refusal) setResultAndStopExecution(refusal)
      if (!withCost) return undefined
      const onNext = ({ result, setResult }: OnNext) => setResult(withCost(result as ExecutionResult))
      return { onSubscribeResult: () => ({ onNext }) }
    },
  }
}

interface OnNext {
  readonly result: unknown
  setResult(result: ExecutionResult): void
}

interface CheckedOperation {
  /** Undefined if the operation may be executed. */
  readonly refusal: ExecutionResult | undefined
  /** Undefined if the client does not ask for the cost. */
  readonly withCost?: (result: ExecutionResult) => ExecutionResult
}

/** The cost is undefined if the variables, which it depends on, are invalid. */
function checkOperation(args: ExecutionArgs, limits: Limits): { cost?: number; errors?: ClientError[] } {
  const operation = getOperationAST(args.document, args.operationName)
  if (!operation) return { errors: [unknownOperation()] }
  const definitions = operation.variableDefinitions ?? []
  const values = args.variableValues ?? {}
  const fault = faultOfSize(args.schema, operation, values)
  if (fault) return { errors: [fault] }
  const { errors } = getVariableValues(args.schema, definitions, values, {
    maxErrors: 10,
    hideSuggestions: !limits.introspection,
  })
  if (errors) return { errors: errors.map(toVariableError) }
  const { cost, depth } = operationCost(operation, args)
  const refusal = depthRefusal(depth, limits) ?? costRefusal(cost, limits) ?? introspectionRefusal(operation, args)
  return { cost, ...(refusal && { errors: [refusal] }) }
}

function depthRefusal(depth: number, limits: Limits): ClientError | undefined {
  if (depth <= limits.depth) return undefined
  return tooComplex(`Query depth limit of ${limits.depth} exceeded, found ${depth}.`, {
    depth,
    depthLimit: limits.depth,
  })
}

function costRefusal(cost: number, limits: Limits): ClientError | undefined {
  if (cost <= limits.cost) return undefined
  const message = `The operation costs ${cost}, the limit is ${limits.cost}. Ask for smaller pages or fewer fields.`
  return tooComplex(message, { cost, costLimit: limits.cost })
}

function introspectionRefusal(
  operation: OperationDefinitionNode,
  { schema, document }: ExecutionArgs,
): ClientError | undefined {
  const { cost, limit } = introspectionCost(schema, operation, document)
  if (cost <= limit) return undefined
  return tooComplex(
    `The operation asks for ${cost} fields of the schema, more than twice as much as a full introspection query: the limit is ${limit}. Remove aliases or nested lists.`,
    { cost, costLimit: limit },
  )
}

export function unknownOperation(): ClientError {
  return new ClientError(
    'OPERATION_RESOLUTION_FAILURE',
    'Could not tell which operation to execute. If the document has several operations, `operationName` must name one of them.',
  )
}
