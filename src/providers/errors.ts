import type { ModelPart } from '../domain/models/model-request.ts'
import type { RunErrorType } from '../domain/runs/run.ts'
import { cutText, isJsonObject, storableText } from '../util/json.ts'
import { MissingPackageError } from '../util/optional-package.ts'
import { ResponseTooLargeError } from './response-limits.ts'

export type Failure = Extract<ModelPart, { type: 'failure' }>

/** A failure after which the same request may succeed. */
function passing(type: RunErrorType, message: string) {
  return { type, message, retryable: true }
}

function lasting(type: RunErrorType, message: string) {
  return { type, message, retryable: false }
}

/** How each kind of failure is reported. */
export const failures = {
  context: lasting('LLM_CONTEXT_WINDOW', 'The context is too long for the model.'),
  authentication: lasting('LLM_AUTHENTICATION', 'The model provider refused the key.'),
  credit: lasting('LLM_RATE_LIMIT', 'The account at the model provider has no credit left.'),
  'rate limit': passing('LLM_RATE_LIMIT', 'The model provider is receiving too many requests.'),
  timeout: passing('LLM_TIMEOUT', 'The model did not answer in time.'),
  'unknown model': lasting(
    'LLM_BAD_REQUEST',
    'The model provider does not know the model, at least not at this address.',
  ),
  'bad request': lasting('LLM_BAD_REQUEST', 'The model provider refused the request.'),
  overload: passing('LLM_ERROR', 'The model provider is overloaded.'),
  connection: passing('LLM_ERROR', 'The connection to the model provider failed.'),
  server: passing('LLM_ERROR', 'The model provider failed.'),
}

type Kind = keyof typeof failures

/** A piece of an answer that belongs to no item. */
export class UnfitPieceError extends Error {}

/** Converts what an SDK threw, or an error inside a stream, to a failure. */
export function failureOf(error: unknown, { secret }: { readonly secret: string | undefined }): Failure {
  if (error instanceof SyntaxError || isUnparsedChunk(error))
    return unusable('The model provider sent something that is not JSON.', null)
  const tooLarge = causeOf(error, ResponseTooLargeError)
  if (tooLarge) return unusable("The model provider's response is too large.", tooLarge.message)
  if (error instanceof UnfitPieceError || isReadingError(error)) {
    return unusable('The model provider sent parts that do not form an answer.', null)
  }
  if (error instanceof MissingPackageError) {
    return { type: 'failure', error: { ...failures['bad request'], message: error.message, detail: null } }
  }
  const facts = factsOf(error)
  const kind = kindOf(facts)
  // A provider's message about a key may contain parts of the key. A message about a permission names the model or the
  // region.
  const isAboutKey = kind === 'authentication' && (facts.status === 401 || facts.code.includes('api_key'))
  const said = isAboutKey ? '' : facts.message
  const detail = [facts.status, facts.code, said].filter(Boolean).join(' ')
  return { type: 'failure', error: { ...failures[kind], detail: withoutSecrets(detail, secret) || null } }
}

/** An answer arrived but cannot be used. */
export function unusable(message: string, detail: string | null, { retryable = true } = {}): Failure {
  return {
    type: 'failure',
    stopReason: 'INVALID_LLM_RESPONSE',
    error: { type: 'LLM_ERROR', message, detail, retryable },
  }
}

export function missingKey(missing: string, handle: string): Failure {
  const message = `${missing}, so ${handle} cannot be reached.`
  return { type: 'failure', error: { type: 'LLM_AUTHENTICATION', message, detail: null, retryable: false } }
}

interface Facts {
  readonly status: number | undefined
  /** A code such as rate_limit_error. If there are two, the more specific one. */
  readonly code: string
  readonly message: string
}

/** OpenAI's errors are `{ code, type, message }`; Anthropic's have that inside `error`. Either may have a status. */
function factsOf(error: unknown): Facts {
  const thrown = isJsonObject(error) ? error : {}
  const body = isJsonObject(thrown['error']) ? thrown['error'] : thrown
  const inner = isJsonObject(body['error']) ? body['error'] : body
  const text = (value: unknown) => (typeof value === 'string' ? value : '')
  return {
    status: typeof thrown['status'] === 'number' ? thrown['status'] : undefined,
    code: text(inner['code']) || text(inner['type']),
    message: [text(error) || text(inner['message']) || text(thrown['message']), ...causesOf(error)]
      .filter(Boolean)
      .join(': '),
  }
}

/**
 * A value of the wrong shape made an SDK throw. A broken connection is different: there fetch throws a TypeError with a
 * cause.
 */
function isReadingError(error: unknown): boolean {
  return error instanceof TypeError && error.cause === undefined
}

/** Amazon's client has no type for this error. */
function isUnparsedChunk(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('Could not parse a Bedrock chunk')
}

function causeOf<T extends Error>(error: unknown, type: new (message: string) => T): T | undefined {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    if (cause instanceof type) return cause
  }
  return undefined
}

/** The SDKs wrap the error of `fetch`, and `fetch` wraps the error of the socket. */
function causesOf(error: unknown, depth = 0): string[] {
  const cause = error instanceof Error && depth < 4 ? error.cause : undefined
  return cause instanceof Error ? [cause.message, ...causesOf(cause, depth + 1)] : []
}

const tooLong =
  /(prompt|input) is too long|context[ _](window|length|limit|size)|maximum context|exceeds? the (model's )?(maximum|available|context|configured limit)|too many (input )?tokens|reduce the length of the|payload size exceeds/i

function kindOf({ status, code: given, message }: Facts): Kind {
  // Amazon's codes look like throttlingException.
  const code = given.toLowerCase()
  if (/insufficient_quota|billing|credit/.test(code) || status === 402) return 'credit'
  // Anthropic has no code for this.
  if (/credit balance is too low/i.test(message)) return 'credit'
  if (status === 429 || /^rate_limit|throttling|resource_exhausted/.test(code)) return 'rate limit'
  if (status === 401 || status === 403 || /authentication|permission|invalid_api_key|accessdenied/.test(code)) {
    return 'authentication'
  }
  if (status === undefined && /load credentials|acquire Google|default credentials/i.test(message))
    return 'authentication'
  if (status === 413 || /context_(length|window|size)|request_too_large|string_above_max/.test(code)) return 'context'
  if (status === 408 || status === 504 || code.includes('timeout')) return 'timeout'
  if (status === 503 || status === 529 || /overloaded|unavailable|notready/.test(code)) return 'overload'
  if (tooLong.test(message)) return 'context'
  if (status !== undefined && status >= 500) return 'server'
  if (status !== undefined || /^invalid_|^image_|_policy|validation/.test(code)) {
    return status === 404 ? 'unknown model' : 'bad request'
  }
  if (code === '' && /timed? ?out/i.test(message)) return 'timeout'
  if (code === '') return 'connection'
  return 'server'
}

const keyLike = /\b(?:sk|pk|rk|key|Bearer)[-_ ][\w*.-]{6,}/g

function withoutSecrets(text: string, secret: string | undefined): string {
  const cleaned = secret ? text.replaceAll(secret, '***') : text
  return cutText(storableText(cleaned.replaceAll(keyLike, '***')), 1000)
}
