import { anthropicError, invalid } from './anthropic-errors.ts'
import { isClosed, secretKey, unknownField } from './fake-model.ts'
import type { ReceivedRequest, Refusal } from './fake-server.ts'

const fields = [
  ...['model', 'messages', 'system', 'max_tokens', 'stream', 'temperature', 'thinking', 'output_config'],
  ...['tools', 'tool_choice'],
]

export interface IssuedThinking {
  /** What each signature was made for: the model and everything before the block. */
  readonly signatures: ReadonlyMap<string, { readonly model: string; readonly prefix: string }>
  readonly redacted: ReadonlySet<string>
}

/** As strict as the Messages API, including how generations of models differ. */
export function checkAnthropic(request: ReceivedRequest, issued: IssuedThinking): Refusal | undefined {
  const { path, headers, body } = request
  if (path !== '/v1/messages') return { status: 404, body: { error: { type: 'not_found_error', message: path } } }
  // Both are accepted. The SDK uses the second.
  const key = headers['x-api-key'] ?? headers.authorization?.replace(/^Bearer /, '')
  if (key !== secretKey) return anthropicError('authentication')
  if (!headers['anthropic-version']) return invalid('anthropic-version: header is required')
  const unknown = unknownField(body, fields)
  if (unknown) return invalid(`${unknown}: Extra inputs are not permitted`)
  if (!Number.isInteger(body.max_tokens)) return invalid('max_tokens: Field required')
  const marks = JSON.stringify(body).split('"cache_control"').length - 1
  if (marks > 4) return invalid(`A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`)
  if (body.system?.some(({ text }: any) => text.trim() === '')) return invalid('system: text must be non-empty')
  for (const tool of body.tools ?? []) {
    if (!/^[\w-]{1,128}$/.test(tool.name)) return invalid('tools.0.name: String should match pattern')
    if (tool.input_schema?.type !== 'object') return invalid('tools.0.input_schema.type: Field required')
    if (tool.strict && !isClosed(tool.input_schema)) return invalid('tools.0.input_schema: not strict')
  }
  if (body.tool_choice && !body.tools?.length)
    return invalid('tool_choice may only be specified while providing tools.')
  return checkThinking(request) ?? checkMessages(body, issued)
}

/** 4.6 of claude-sonnet-4-6. */
function version(model: string): number {
  const [, major, minor] = /-(\d)(?:-(\d{1,2}))?$/.exec(model) ?? []
  return Number(`${major ?? 0}.${minor ?? 0}`)
}

function isBound(model: string): boolean {
  return version(model) > 5
}

function checkThinking({ body, headers }: ReceivedRequest): Refusal | undefined {
  const { thinking, model } = body
  const betas = String(headers['anthropic-beta'] ?? '')
  if (thinking?.type === 'enabled') {
    if (version(model) >= 4.7) return invalid('"thinking.type.enabled" is not supported for this model.')
    if (thinking.budget_tokens < 1024) return invalid('thinking.budget_tokens: at least 1024')
    if (thinking.budget_tokens >= body.max_tokens)
      return invalid('max_tokens must be greater than thinking.budget_tokens')
  }
  if (thinking?.type === 'adaptive' && version(model) < 4.6) return invalid('adaptive thinking is not supported')
  if (thinking?.type === 'disabled' && version(model) > 5) return invalid('"thinking.type.disabled" is not supported')
  if (thinking?.block_binding && !betas.includes('thinking-binding-controls-2026-08-01')) {
    return invalid('thinking.adaptive.block_binding: Extra inputs are not permitted')
  }
  const thinks = thinking !== undefined || version(model) >= 5
  if (body.temperature !== undefined && (thinks || version(model) >= 4.7))
    return invalid('temperature is not supported')
  if (thinks && ['any', 'tool'].includes(body.tool_choice?.type)) {
    return invalid('Thinking may not be enabled when tool_choice forces tool use.')
  }
  return undefined
}

function checkMessages(body: any, issued: IssuedThinking): Refusal | undefined {
  const { messages } = body
  const ids = new Set<string>()
  if (messages.at(-1)?.role !== 'user') return invalid('This model does not support assistant message prefill.')
  for (const [place, { role, content }] of messages.entries()) {
    if (role !== (place % 2 === 0 ? 'user' : 'assistant')) return invalid('messages: roles must alternate')
    if (!Array.isArray(content) || content.length === 0) return invalid(`messages.${place}: content must be non-empty`)
    const calls = place > 0 ? toolUses(messages[place - 1]) : []
    const results = content.filter(({ type }: any) => type === 'tool_result')
    const missing = calls.find((id) => !results.some((result: any) => result.tool_use_id === id))
    if (missing) {
      return invalid(`messages.${place - 1}: \`tool_use\` ids were found without \`tool_result\` blocks: ${missing}`)
    }
    if (content.slice(0, results.length).some(({ type }: any) => type !== 'tool_result')) {
      return invalid(`messages.${place}: tool_result blocks must come first`)
    }
    for (const [at, block] of content.entries()) {
      const bad = badBlock(block, { role, calls, ids })
      if (bad) return invalid(`messages.${place}.content.${at}: ${bad}`)
    }
    if (role === 'assistant') {
      const bad = badThinking(body, place, issued)
      if (bad) return invalid(`messages.${place}: ${bad}`)
    }
  }
  return undefined
}

function toolUses({ content }: any): string[] {
  return content.flatMap(({ type, id }: any) => (type === 'tool_use' ? [id] : []))
}

function badBlock(block: any, { role, calls, ids }: { role: string; calls: string[]; ids: Set<string> }) {
  if (block.type === 'text') return block.text.trim() === '' ? 'text content blocks must be non-empty' : undefined
  if (role === 'user' && block.type in mediaTypes) return badMedia(block)
  if (block.type === 'tool_result' && role === 'user') {
    const parts = Array.isArray(block.content) ? block.content : []
    const bad = parts.map((part: any) => badPart(part)).find(Boolean)
    if (bad) return `tool_result: ${bad}`
    if (block.is_error && !block.content) return 'tool_result: content cannot be empty if `is_error` is true'
    return calls.includes(block.tool_use_id) ? undefined : 'unexpected `tool_use_id` found in `tool_result` blocks'
  }
  if (block.type === 'tool_use' && role === 'assistant') {
    if (!/^[a-zA-Z0-9_-]+$/.test(block.id)) return 'tool_use.id: String should match pattern'
    if (typeof block.input !== 'object' || Array.isArray(block.input)) return 'tool_use.input: should be a dictionary'
    if (ids.has(block.id)) return '`tool_use` ids must be unique'
    ids.add(block.id)
    return undefined
  }
  return role === 'assistant' && block.type.endsWith('thinking') ? undefined : `unexpected block ${block.type}`
}

const mediaTypes: Record<string, string[]> = {
  image: ['image/png', 'image/jpeg', 'image/gif', 'image/webp'],
  document: ['application/pdf'],
}

/** A tool may return text, images and documents, and no empty text. */
function badPart(part: any): string | undefined {
  if (part.type === 'text') return part.text.trim() === '' ? 'text content blocks must be non-empty' : undefined
  return part.type in mediaTypes ? badMedia(part) : `unexpected block ${part.type}`
}

function badMedia({ type: kind, source }: any): string | undefined {
  const { type, media_type: mediaType, data, url } = source
  const good =
    type === 'base64'
      ? mediaTypes[kind]!.includes(mediaType) && /^[\w+/]+={0,2}$/.test(data)
      : type === 'url' && /^https?:\/\//.test(url)
  return good ? undefined : `${kind}.source: bad source`
}

function badThinking(body: any, place: number, issued: IssuedThinking): string | undefined {
  const { content } = body.messages[place]
  if (content.at(-1).type.endsWith('thinking')) return 'The final block in an assistant message cannot be `thinking`.'
  for (const block of content) {
    if (block.type === 'redacted_thinking' && !issued.redacted.has(block.data)) return 'Invalid `data`'
    if (block.type !== 'thinking') continue
    const known = issued.signatures.get(block.signature)
    if (!known) return 'Invalid `signature` in `thinking` block'
    const drops = body.thinking?.block_binding?.prefix_mismatch_behavior === 'drop_block'
    if (isBound(body.model) && !drops && known.prefix !== prefixOf(body, place)) {
      return 'Invalid `signature` in `thinking` block. The block is bound to a different conversation.'
    }
  }
  const answered = place === body.messages.length - 2 && content.some(({ type }: any) => type === 'tool_use')
  if (body.thinking?.type === 'enabled' && answered && !content[0].type.endsWith('thinking')) {
    return 'Expected `thinking` or `redacted_thinking`, but found `tool_use`.'
  }
  return undefined
}

/** Everything before a message, except for cache marks, which may move. */
export function prefixOf({ system, tools, messages }: any, end: number): string {
  return JSON.stringify({ system, tools, messages: messages.slice(0, end) }, (key, value) =>
    key === 'cache_control' ? undefined : value,
  )
}
