import { maxAliasesPlugin } from '@escape.tech/graphql-armor-max-aliases'
import { maxDirectivesPlugin } from '@escape.tech/graphql-armor-max-directives'
import { parse, type ExecutionArgs, type ExecutionResult, type ValidationContext } from 'graphql'
import type { Plugin } from 'graphql-yoga'

import { ClientError } from '../../graphql/errors.ts'
import { errorMessage } from '../../util/error-message.ts'

/** The same limits apply to HTTP, server-sent events and WebSockets. */
export type Limits = Readonly<typeof defaultLimits>

/**
 * Costs, for comparison: a page of 200 messages with the fields of every kind of message costs 30,000 (all kinds are
 * counted, though a message has one). 200 agents with their tools and blocks cost 11,000. Agents with runs with agents
 * with runs, 50 per page, cost 130,000. 50,000 plain fields keep the process busy for about a tenth of a second (20,000
 * took 15 to 50 ms on 2 cores).
 */
export const defaultLimits = {
  /** Levels of fields. Fragments do not count as levels: unions and interfaces need many of them. */
  depth: 15,
  /** The most fields in a result, or in one event of a subscription, if every list is full. */
  cost: 50_000,
  aliases: 30,
  directives: 10,
  tokens: 2_000,
  /** Characters of a document. */
  documentLength: 500_000,
  /** The size of an HTTP body or a WebSocket frame. */
  requestBytes: 10 * 1024 * 1024,
  operationsPerSocket: 50,
  /** Requests per second of one key, including operations on its sockets. 0 means no limit. */
  keyRequests: 1_000,
  keySockets: 2_000,
  /** Open subscriptions of one key, on sockets and event streams together. */
  keySubscriptions: 10_000,
  /** Requests per second of all keys of one tenant together. 0 means no limit. */
  tenantRequests: 0,
  /** How long a connection may take to send the head of its first or next request. */
  requestHeadMs: 20_000,
  /** How long a client may leave what it is sent unread. */
  stalledSocketMs: 60_000,
  /** How long a stream waits for a database that is unavailable, before it ends with UNAVAILABLE. */
  unavailableMs: 30_000,
  /** How often the keys of open requests, sockets and event streams are checked. */
  keyCheckMs: 1_000,
  /** How long a query or mutation may take. `waitMs` alone allows five minutes. */
  executionMs: 330_000,
  /** Whether clients may ask for the schema. */
  introspection: true,
  /** The memory for parsed and validated documents. */
  documentCacheBytes: 48 * 1024 * 1024,
}

/** The error for a body or frame that is larger than `requestBytes`, the same on every transport. */
export function tooLarge({ requestBytes }: Pick<Limits, 'requestBytes'>): ClientError {
  const message = `The request is larger than ${requestBytes} bytes, the limit that HOLDPOINT_MAX_BODY sets.`
  return new ClientError('BAD_REQUEST', message, { http: { status: 413 } })
}

export function tooComplex(message: string, extensions?: Readonly<Record<string, number>>): ClientError {
  return new ClientError('OPERATION_TOO_COMPLEX', message, { extensions })
}

/** Limits that depend on the document alone, so that the result of the check can be cached with it. */
export function documentLimits(limits: Limits): Plugin[] {
  // Reported, not thrown: an exception during validation would become an internal error.
  const report = {
    propagateOnRejection: false,
    onReject: [
      (context: ValidationContext | null, error: Error) =>
        context?.reportError(tooComplex(error.message.replace('Syntax Error: ', ''))),
    ],
  }
  return [
    useTokenLimit(limits),
    // Without this empty allowList, aliases of __typename are not counted.
    maxAliasesPlugin({ n: limits.aliases, allowList: [], ...report }),
    maxDirectivesPlugin({ n: limits.directives, ...report }),
  ]
}

/** Stops parsing at the limits, so that a long document costs no more than an allowed one. */
function useTokenLimit({ tokens, documentLength }: Limits): Plugin {
  const parseUpToLimit: typeof parse = (source, options) => {
    const { length } = typeof source === 'string' ? source : source.body
    if (length > documentLength)
      throw tooComplex(
        `The document has ${length} characters, the limit is ${documentLength}. Send long texts in variables.`,
      )
    try {
      return parse(source, { ...options, maxLexicalTokens: tokens })
    } catch (error) {
      if (!errorMessage(error).includes('tokens. Parsing aborted')) throw error
      throw tooComplex(`Token limit of ${tokens} exceeded. Use variables, or send several operations.`)
    }
  }
  return { onParse: ({ setParseFn }) => setParseFn(parseUpToLimit) }
}

/** Answers in time, but undoes nothing: a mutation that has started may still take effect. */
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
