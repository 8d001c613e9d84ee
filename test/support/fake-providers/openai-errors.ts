import type { FailureKind } from './fake-model.ts'
import type { Refusal } from './fake-server.ts'

export function badRequest(message: string, code: string | null = null): Refusal {
  return { status: 400, body: { error: { message, type: 'invalid_request_error', param: null, code } } }
}

const errors: Record<FailureKind, { status: number; type: string; code: string | null; message: string }> = {
  'rate limit': { status: 429, type: 'requests', code: 'rate_limit_exceeded', message: 'Rate limit reached.' },
  authentication: {
    status: 401,
    type: 'invalid_request_error',
    code: 'invalid_api_key',
    message: 'Incorrect API key provided: sk-test-*******seen.',
  },
  'bad request': { status: 400, type: 'invalid_request_error', code: null, message: 'Invalid value.' },
  context: {
    status: 400,
    type: 'invalid_request_error',
    code: 'context_length_exceeded',
    message: 'Your input exceeds the context window of this model.',
  },
  overload: { status: 503, type: 'server_error', code: null, message: 'The engine is currently overloaded.' },
  server: { status: 500, type: 'server_error', code: 'server_error', message: 'The server had an error.' },
  'unknown model': { status: 404, type: 'invalid_request_error', code: 'model_not_found', message: 'No such model.' },
}

export function openaiError(kind: FailureKind, headers?: Record<string, string>): Refusal {
  const { status, ...error } = errors[kind]
  return { status, body: { error: { ...error, param: null } }, ...(headers && { headers }) }
}

/** Bad or missing keys, and addresses that don't exist. */
export function openaiAccess(
  { path, headers }: { path: string; headers: Record<string, unknown> },
  at: string,
  key: string,
): Refusal | undefined {
  if (path !== at) return { status: 404, body: { error: { message: `Unknown URL: ${path}` } } }
  if (headers['authorization'] !== `Bearer ${key}`) return openaiError('authentication')
  return undefined
}

export function badTool(tool: any, isClosed: (schema: any) => boolean): string | undefined {
  if (!/^[\w-]{1,64}$/.test(tool.name)) return `Invalid tool name: ${tool.name}`
  if (tool.parameters?.type !== 'object')
    return `Invalid schema for function '${tool.name}': schema must have type object`
  if (tool.strict && !isClosed(tool.parameters)) return `Invalid schema for function '${tool.name}': not strict`
  return undefined
}
