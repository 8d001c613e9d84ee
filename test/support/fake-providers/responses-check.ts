import { isClosed, isImageUrl, isPdfUrl, secretKey, unknownField } from './fake-model.ts'
import type { ReceivedRequest, Refusal } from './fake-server.ts'
import { badRequest, badTool, openaiAccess } from './openai-errors.ts'

const fields = [
  ...['model', 'input', 'instructions', 'tools', 'tool_choice', 'parallel_tool_calls', 'max_output_tokens'],
  ...['temperature', 'reasoning', 'include', 'text', 'store', 'stream'],
]
const itemFields: Record<string, string[]> = {
  message: ['type', 'role', 'content', 'phase'],
  reasoning: ['type', 'id', 'summary', 'encrypted_content'],
  function_call: ['type', 'call_id', 'name', 'arguments'],
  function_call_output: ['type', 'call_id', 'output'],
}

/** As strict as the Responses API. `issued` is the encrypted reasoning that this server has given. */
export function checkResponses(request: ReceivedRequest, issued: ReadonlySet<string>): Refusal | undefined {
  const denied = openaiAccess(request, '/v1/responses', secretKey)
  if (denied) return denied
  const { body } = request
  const unknown = unknownField(body, fields)
  if (unknown) return badRequest(`Unknown parameter: '${unknown}'.`, 'unknown_parameter')
  if (typeof body.model !== 'string' || body.stream !== true) return badRequest('Missing required parameter.')
  const reasons = /^(o\d|gpt-[5-9])/.test(body.model)
  if (reasons && body.temperature !== undefined) return badRequest("Unsupported parameter: 'temperature'.")
  if (!reasons && body.reasoning) return badRequest("Unsupported parameter: 'reasoning.effort'.")
  if (body.tool_choice !== undefined && !body.tools?.length) return badRequest('tool_choice without tools.')
  for (const tool of body.tools ?? []) {
    const bad = badTool(tool, isClosed)
    if (bad) return badRequest(bad, 'invalid_function_parameters')
    if (typeof tool.strict !== 'boolean') return badRequest('Missing required parameter: tools[0].strict')
  }
  if (!Array.isArray(body.input) || body.input.length === 0) return badRequest("Missing required parameter: 'input'.")
  return checkItems(body.input, issued)
}

function checkItems(items: readonly any[], issued: ReadonlySet<string>): Refusal | undefined {
  const open = new Set<string>()
  const seen = new Set<string>()
  for (const [place, item] of items.entries()) {
    const type = item.type ?? 'message'
    const known = itemFields[type]
    if (!known) return badRequest(`Invalid value: '${type}'.`)
    const unknown = unknownField(item, known)
    if (unknown) return badRequest(`Unknown parameter: 'input[${place}].${unknown}'.`, 'unknown_parameter')
    if (type === 'message') {
      const bad = badMessage(item)
      if (bad) return badRequest(bad)
      if (open.size > 0) return badRequest(`No tool output found for function call ${[...open][0]}.`)
    }
    if (type === 'function_call') {
      if (item.call_id.length > 64) return badRequest(`Invalid 'input[${place}].call_id': string too long.`)
      if (seen.has(item.call_id)) return badRequest(`Duplicate call_id ${item.call_id}.`)
      if (typeof item.arguments !== 'string') return badRequest('arguments must be a string')
      open.add(item.call_id)
      seen.add(item.call_id)
    }
    if (type === 'function_call_output') {
      const bad = typeof item.output === 'string' ? undefined : badContent(item.output)
      if (bad) return badRequest(bad)
      if (!open.delete(item.call_id)) {
        return badRequest(`No tool call found for function call output with call_id ${item.call_id}.`)
      }
    }
    if (type === 'reasoning') {
      if (!item.encrypted_content) return { ...badRequest(`Item with id '${item.id}' not found.`), status: 404 }
      if (!issued.has(item.encrypted_content)) {
        return badRequest('The encrypted content could not be verified.', 'invalid_encrypted_content')
      }
      const next = items[place + 1]
      if (!next || !(next.role === 'assistant' || ['function_call', 'reasoning'].includes(next.type))) {
        return badRequest(`Item '${item.id}' of type 'reasoning' was provided without its required following item.`)
      }
    }
  }
  return open.size > 0 ? badRequest(`No tool output found for function call ${[...open][0]}.`) : undefined
}

function badMessage({ role, content }: any): string | undefined {
  if (!['user', 'assistant', 'developer', 'system'].includes(role)) return `Invalid value: '${role}'.`
  return typeof content === 'string' ? undefined : badContent(content)
}

/** A tool may return whatever a user may send. */
function badContent(content: any): string | undefined {
  if (!Array.isArray(content) || content.length === 0) return 'Invalid type for content: expected an array.'
  for (const part of content) {
    if (part.type === 'input_text' && typeof part.text === 'string') continue
    if (part.type === 'input_image' && isImageUrl(part.image_url)) continue
    if (part.type === 'input_file' && isFile(part)) continue
    return `Invalid value: '${part.type}'.`
  }
  return undefined
}

function isFile({ filename, file_data: data, file_url: url }: any): boolean {
  if (url !== undefined) return data === undefined && filename === undefined && /^https?:\/\//.test(url)
  return typeof filename === 'string' && filename !== '' && isPdfUrl(data)
}
