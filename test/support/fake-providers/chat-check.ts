import { isClosed, isImageUrl, isPdfUrl, secretKey, unknownField } from './fake-model.ts'
import type { ReceivedRequest, Refusal } from './fake-server.ts'
import { badRequest, badTool, openaiAccess } from './openai-errors.ts'

const fields = [
  ...['model', 'messages', 'tools', 'tool_choice', 'parallel_tool_calls', 'max_tokens', 'max_completion_tokens'],
  ...['temperature', 'reasoning_effort', 'response_format', 'stream', 'stream_options'],
]
const messageFields: Record<string, string[]> = {
  system: ['role', 'content'],
  user: ['role', 'content'],
  assistant: ['role', 'content', 'tool_calls', 'reasoning_content'],
  tool: ['role', 'content', 'tool_call_id'],
}

/** As strict as Chat Completions, and as a server that wants its reasoning back while its calls are being answered. */
export function checkChat(request: ReceivedRequest): Refusal | undefined {
  const denied = openaiAccess(request, '/v1/chat/completions', secretKey)
  if (denied) return denied
  const { body } = request
  const unknown = unknownField(body, fields)
  if (unknown) return badRequest(`Unrecognized request argument supplied: ${unknown}`)
  if (typeof body.model !== 'string' || body.stream !== true) return badRequest('Missing required parameter.')
  const reasons = /^(o\d|gpt-[5-9])/.test(body.model)
  if (reasons && body.max_tokens !== undefined) return badRequest("Unsupported parameter: 'max_tokens'.")
  if (reasons && body.temperature !== undefined) return badRequest("Unsupported value: 'temperature'.")
  if ((body.tool_choice ?? body.parallel_tool_calls) !== undefined && !body.tools?.length) {
    return badRequest('tool_choice is only allowed when tools are specified.')
  }
  for (const tool of body.tools ?? []) {
    const bad = tool.type === 'function' ? badTool(tool.function, isClosed) : 'Invalid tool.'
    if (bad) return badRequest(bad)
  }
  return checkMessages(body.messages ?? [])
}

function checkMessages(messages: readonly any[]): Refusal | undefined {
  if (messages.length === 0) return badRequest('[] is too short - messages')
  const open = new Set<string>()
  for (const [place, message] of messages.entries()) {
    const known = messageFields[message.role]
    if (!known) return badRequest(`Invalid value: '${message.role}'.`)
    const unknown = unknownField(message, known)
    if (unknown) return badRequest(`Unknown parameter: 'messages[${place}].${unknown}'.`)
    if (message.role === 'tool') {
      if (!open.delete(message.tool_call_id)) {
        return badRequest("messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
      }
      if (typeof message.content !== 'string') return badRequest('Invalid content.')
      continue
    }
    if (open.size > 0) {
      return badRequest(
        `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. Missing: ${[...open].join()}`,
      )
    }
    if (message.role === 'system' && place > 0 && messages[place - 1].role === 'system') {
      return badRequest('System message must be at the beginning.')
    }
    if (message.role === 'assistant') {
      if (message.content === null && !message.tool_calls?.length) return badRequest('Invalid assistant message.')
      for (const call of message.tool_calls ?? []) {
        if (call.id.length > 40) return badRequest(`Invalid 'messages[${place}].tool_calls[0].id': string too long.`)
        if (open.has(call.id)) return badRequest(`Duplicate tool call id ${call.id}.`)
        if (!isJson(call.function.arguments)) return badRequest('The arguments are not JSON.')
        open.add(call.id)
      }
      const current = !messages.slice(place).some(({ role }) => role === 'user')
      const thought = message.tool_calls?.some(({ id }: { id: string }) => id.startsWith('thought_'))
      if (current && thought && message.reasoning_content === undefined) {
        return badRequest('Missing reasoning_content field in the assistant message.')
      }
    }
    if (message.role === 'user' && Array.isArray(message.content)) {
      for (const part of message.content) {
        if (part.type === 'text' && typeof part.text === 'string') continue
        if (part.type === 'image_url' && isImageUrl(part.image_url.url)) continue
        if (part.type === 'file' && part.file.filename && isPdfUrl(part.file.file_data)) continue
        return badRequest('Bad content.')
      }
    }
  }
  return open.size > 0 ? badRequest('Tool calls without results at the end.') : undefined
}

/** Templates of open models parse the arguments. */
function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}
