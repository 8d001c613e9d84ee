import { badUserInput } from '../errors.ts'
import { checkedCount, checkedDistinct, checkedObjectSchema, checkedText, checkedToolName } from '../input.ts'
import { checkedParts, checkedWords, type PartInput } from '../conversations/content-input.ts'
import type { MessageRole } from '../conversations/message.ts'
import {
  namedFiles,
  type OfferedContent,
  type OfferedMessage,
  type OfferedPart,
  type OfferedUpload,
} from '../context/offered-content.ts'
import type { ClientTool } from './run.ts'
import { storableText, type Json } from '../../util/json.ts'

/** Checks of the input of commands for runs. Each error names the field by its path. */

const maxWaitMs = 300_000
const maxMessages = 100
const maxClientTools = 128

/** A wait above the maximum is shortened to the maximum. */
export function checkedWait(field: string, waitMs: number): number {
  if (waitMs < 0) throw badUserInput(field, `${waitMs} is negative. Expected milliseconds from 0 to ${maxWaitMs}.`)
  return Math.min(waitMs, maxWaitMs)
}

/** A text by which the client recognises something later. It is stored unchanged, or refused if that is impossible. */
export function checkedToken(field: string, value: string | null | undefined): string | null {
  if (value === null || value === undefined) return null
  if (value.length < 1 || value.length > 200) {
    throw badUserInput(field, `It has ${value.length} characters. Expected 1 to 200.`)
  }
  if (storableText(value) !== value) {
    throw badUserInput(field, 'It contains a NUL character or half of a surrogate pair. Expected well-formed text.')
  }
  return value
}

interface MessageInput {
  readonly role?: MessageRole | null | undefined
  readonly text?: string | null | undefined
  readonly content?: readonly PartInput[] | null | undefined
  readonly clientId?: string | null | undefined
}

export function checkedMessages(field: string, inputs: readonly MessageInput[]): OfferedContent {
  checkedCount(field, inputs, { max: maxMessages })
  const brought: OfferedUpload[] = []
  const messages = inputs.map((input, index) => checkedMessage(`${field}.${index}`, input, brought))
  return { messages, files: { named: messages.flatMap(({ content }) => namedFiles(content)), brought } }
}

/** Adds content that has to be stored as a file to `uploads`. */
export function checkedMessage(field: string, input: MessageInput, uploads: OfferedUpload[]): OfferedMessage {
  return {
    role: input.role ?? 'USER',
    content: checkedContent(field, input, uploads),
    clientId: checkedToken(`${field}.clientId`, input.clientId),
  }
}

function checkedContent(field: string, { role, text, content }: MessageInput, uploads: OfferedUpload[]): OfferedPart[] {
  if (typeof text === 'string' && content) {
    throw badUserInput(`${field}.content`, 'It cannot be combined with `text`. Give one of the two.')
  }
  if (typeof text === 'string') return [{ text: checkedWords(`${field}.text`, text) }]
  if (!content) throw badUserInput(`${field}.text`, 'It is missing. Give either `text` or `content`.')
  if (role === 'SYSTEM') checkOnlyText(`${field}.content`, content)
  return checkedParts(`${field}.content`, content, uploads)
}

function checkOnlyText(field: string, content: readonly PartInput[]): void {
  for (const [index, part] of content.entries()) {
    const other = (['imageUrl', 'documentUrl', 'fileId'] as const).find((name) => typeof part[name] === 'string')
    if (other) throw badUserInput(`${field}.${index}.${other}`, 'A SYSTEM message must contain only text.')
  }
}

interface ClientToolInput {
  readonly name: string
  readonly description?: string | null | undefined
  readonly parameters?: Json | undefined
}

/** The parameters of all client tools of a request together: every model request has them. */
const maxParameters = 512 * 1024

export const clientToolDefaults = { description: '', parameters: { type: 'object', properties: {} } } as const

export function checkedClientTools(field: string, inputs: readonly ClientToolInput[]): ClientTool[] {
  checkedCount(field, inputs, { max: maxClientTools })
  const bytes = inputs.reduce((total, { parameters = {} }) => total + Buffer.byteLength(JSON.stringify(parameters)), 0)
  if (bytes > maxParameters)
    throw badUserInput(field, `Their parameters are ${bytes} bytes of JSON. At most ${maxParameters} are allowed.`)
  const tools = inputs.map((input, index) => ({
    name: checkedToolName(`${field}.${index}.name`, input.name),
    description: checkedText(`${field}.${index}.description`, input.description ?? clientToolDefaults.description, {
      max: 10_000,
    }),
    parameters: checkedObjectSchema(`${field}.${index}.parameters`, input.parameters ?? clientToolDefaults.parameters),
  }))
  checkedDistinct(
    field,
    tools.map((tool) => tool.name),
  )
  return tools
}
