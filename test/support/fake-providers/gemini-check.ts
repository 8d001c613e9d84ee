import { secretKey, unknownField } from './fake-model.ts'
import type { ReceivedRequest, Refusal } from './fake-server.ts'

const fields = ['contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig']
const settings = ['temperature', 'maxOutputTokens', 'responseMimeType', 'responseJsonSchema', 'thinkingConfig']

export function geminiError(code: number, status: string, message: string, details: object[] = []): Refusal {
  return { status: code, body: { error: { code, message, status, details } } }
}

function invalid(message: string): Refusal {
  return geminiError(400, 'INVALID_ARGUMENT', message)
}

/** As strict as the Gemini API. `issued` are the signatures that the model has given. */
export function checkGemini(request: ReceivedRequest, issued: ReadonlySet<string>): Refusal | undefined {
  const { path, headers, body } = request
  const [, model] = /^\/v1beta\/models\/([\w.-]+):streamGenerateContent\?alt=sse$/.exec(path) ?? []
  if (!model) return geminiError(404, 'NOT_FOUND', path)
  if (headers['x-goog-api-key'] !== secretKey) {
    return geminiError(400, 'INVALID_ARGUMENT', 'API key not valid.', [{ reason: 'API_KEY_INVALID' }])
  }
  const unknown = unknownField(body, fields) ?? unknownField(body.generationConfig ?? {}, settings)
  if (unknown) return invalid(`Invalid JSON payload received. Unknown name "${unknown}"`)
  const declared = body.tools?.flatMap(({ functionDeclarations }: any) => functionDeclarations) ?? []
  if (declared.some(({ name }: any) => !/^[a-zA-Z_][\w.:-]{0,127}$/.test(name)))
    return invalid('Invalid function name.')
  if (model.startsWith('gemini-2') && declared.length > 0 && body.generationConfig?.responseMimeType) {
    return invalid('Function calling with a response mime type: application/json is unsupported')
  }
  if (model.startsWith('gemini-2') && body.generationConfig?.thinkingConfig?.thinkingLevel) {
    return invalid('Thinking level is not supported for this model.')
  }
  return checkContents(body.contents, { model, issued })
}

function checkContents(contents: any[], { model, issued }: { model: string; issued: ReadonlySet<string> }) {
  if (contents.length === 0) return invalid('contents is not specified')
  if (contents.at(-1).role !== 'user') return invalid('Please ensure that single turn requests end with a user role.')
  for (const [place, { role, parts }] of contents.entries()) {
    if (role !== (place % 2 === 0 ? 'user' : 'model')) return invalid('Please ensure that roles alternate.')
    if (!parts?.length) return invalid('contents.parts must not be empty.')
    if (parts.some((part: any) => Object.keys(part).length === 0)) return invalid('a part must have one field of data')
    const calls = parts.filter((part: any) => part.functionCall)
    const returns = contents[place + 1]?.parts.filter((part: any) => part.functionResponse) ?? []
    if (calls.length > 0 && returns.length !== calls.length) {
      return invalid(
        'Please ensure that the number of function response parts is equal to the number of function call parts.',
      )
    }
    for (const [at, { functionCall }] of calls.entries()) {
      const { id, name, response } = returns[at].functionResponse
      if (id !== functionCall.id || name !== functionCall.name)
        return invalid('function responses must match their calls')
      if (typeof response !== 'object') return invalid('function_response.response must be a struct')
    }
    if (model.startsWith('gemini-3') && calls.length > 0 && !calls[0].thoughtSignature) {
      return invalid('Function call is missing a thought_signature in functionCall parts.')
    }
    for (const { thoughtSignature } of parts) {
      const known = issued.has(thoughtSignature) || thoughtSignature === 'skip_thought_signature_validator'
      if (thoughtSignature !== undefined && !known) return invalid('Corrupted thought signature.')
    }
  }
  return undefined
}
