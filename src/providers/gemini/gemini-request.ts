import type { Content, FunctionDeclaration, GenerationConfig, Part } from '@google/genai'

import type { ModelContent } from '../../domain/context/model-content.ts'
import type { AssistantPart, ModelMessage, ModelRequest } from '../../domain/models/model-request.ts'
import { isJsonObject, type JsonObject } from '../../util/json.ts'
import { geminiVersion, thinkingOf, type GeminiThinking } from './gemini-model.ts'
import { modelName } from '../models.ts'
import { ownData } from '../reasoning.ts'
import {
  alternatingTurns,
  argumentsObject,
  loadedMedia,
  promptWithSchema,
  returnedMedia,
  returnText,
  withWireIds,
} from '../wire.ts'

interface ToolConfig {
  readonly functionCallingConfig: { readonly allowedFunctionNames?: string[]; readonly mode: 'AUTO' | 'ANY' }
}

/** The wire format. The SDK has enums for some of the values. */
export interface GeminiBody {
  readonly contents: Content[]
  readonly systemInstruction?: Content
  readonly tools?: { readonly functionDeclarations: FunctionDeclaration[] }[]
  readonly toolConfig?: ToolConfig
  readonly generationConfig: Omit<GenerationConfig, 'thinkingConfig'> & { readonly thinkingConfig?: GeminiThinking }
}

/** Gemini 3 refuses a call without a signature, and accepts this text instead if another model made the call. */
const noSignature = 'skip_thought_signature_validator'

/** The body of a request, with its keys in the order in which the SDK writes them. */
export function geminiBody(request: ModelRequest): GeminiBody {
  const { settings, tools } = request
  const name = modelName(request.model)
  // Older models accept either tools or a response schema.
  const isNative = isJsonObject(settings.responseSchema) && (tools.length === 0 || geminiVersion(name) >= 3)
  const prompt = settings.responseSchema !== null && !isNative ? promptWithSchema(request) : request.systemPrompt
  const thinkingConfig = thinkingOf(name, settings)
  return {
    contents: contentsOf(request),
    ...(prompt.trim() !== '' && { systemInstruction: { parts: [{ text: prompt }], role: 'user' } }),
    ...(tools.length > 0 && {
      tools: [
        {
          functionDeclarations: tools.map(({ name: tool, description, parameters }) => ({
            ...(description !== '' && { description }),
            name: tool,
            parametersJsonSchema: parameters,
          })),
        },
      ],
      toolConfig: toolConfigOf(request),
    }),
    generationConfig: {
      ...(settings.temperature !== null && { temperature: settings.temperature }),
      ...(settings.maxOutputTokens !== null && { maxOutputTokens: settings.maxOutputTokens }),
      ...(isNative && { responseMimeType: 'application/json', responseJsonSchema: settings.responseSchema }),
      ...(thinkingConfig && { thinkingConfig }),
    },
  }
}

function toolConfigOf({ toolChoice = 'auto' }: ModelRequest): ToolConfig {
  const mode = toolChoice === 'auto' ? 'AUTO' : 'ANY'
  const only = typeof toolChoice === 'object' && { allowedFunctionNames: [toolChoice.tool] }
  return { functionCallingConfig: { ...only, mode } }
}

/** Returns are in the turn right after their calls. */
function contentsOf(request: ModelRequest): Content[] {
  const turns = alternatingTurns<Part>(
    withWireIds(request.messages, 64),
    (message) => partsOf(message, request),
    (text) => ({ text }),
  )
  return turns.map(({ isUser, parts }) => ({ parts, role: isUser ? 'user' : 'model' }))
}

function partsOf(message: ModelMessage, request: ModelRequest): Part[] {
  switch (message.role) {
    case 'user':
      return message.content.map(contentOf)
    case 'system':
      return [{ text: `<system-message>\n${message.text}\n</system-message>` }]
    case 'assistant':
      return modelParts(message.parts, request)
    case 'tool':
      return [
        ...message.returns.map((one) => ({
          functionResponse: {
            id: one.callId,
            name: one.name,
            response: { [one.failed ? 'error' : 'output']: returnText(one) },
          },
        })),
        // The responses are JSON. Other content that the tools returned follows them.
        ...returnedMedia(message.returns).map(contentOf),
      ]
    default:
      return message satisfies never
  }
}

function contentOf(part: ModelContent): Part {
  if ('text' in part) return { text: part.text }
  const media = loadedMedia('image' in part ? part.image : part.document)
  if ('url' in media) return { fileData: { fileUri: media.url } }
  return { inlineData: { data: media.base64, mimeType: media.mediaType } }
}

/** A call's signature is stored with what came before the call: see `readContent`. */
function modelParts(parts: readonly AssistantPart[], request: ModelRequest): Part[] {
  const needsSignature = geminiVersion(modelName(request.model)) >= 3
  const signatures = new Map<number, string>()
  let calls = 0
  return parts.flatMap((part): Part[] => {
    const data = ownData(part, request)
    if (part.type === 'call') {
      const place = calls++
      const signature = signatures.get(place) ?? (needsSignature && place === 0 ? noSignature : undefined)
      const args = argumentsObject(part.argumentsText)
      return [{ functionCall: { id: part.callId, args, name: part.name }, ...withSignature(signature) }]
    }
    const { signature, call, callSignature } = data ?? {}
    if (typeof call === 'number' && typeof callSignature === 'string') signatures.set(call, callSignature)
    if (part.type === 'text') return part.text === '' ? [] : [{ text: part.text, ...withSignature(signature) }]
    // A thought without a signature is useless to its model.
    return typeof signature === 'string' ? [{ text: part.text, thought: true, ...withSignature(signature) }] : []
  })
}

function withSignature(signature: JsonObject[string] | undefined): { thoughtSignature?: string } {
  return typeof signature === 'string' ? { thoughtSignature: signature } : {}
}
