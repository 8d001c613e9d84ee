import { badUserInput } from './errors.ts'
import { checkedCount, checkedDistinct, checkedObjectSchema, checkedText, checkedToolName, shown } from './input.ts'
import type { ContentPart, GivenMessage, MessageRole } from './message.ts'
import type { ClientTool } from './run.ts'
import { storableText, type Json } from '../util/json.ts'

/** Checks of the input of commands for runs. Each error names the field by its path. */

const maxWaitMs = 300_000
const maxMessages = 100
const maxParts = 50
const maxTextCharacters = 200_000
const maxClientTools = 128

/** A longer wait than the maximum is answered after the maximum. */
export function checkedWait(field: string, waitMs: number): number {
  if (waitMs < 0) throw badUserInput(field, `${waitMs} is negative. Expected milliseconds from 0 to ${maxWaitMs}.`)
  return Math.min(waitMs, maxWaitMs)
}

/** A text by which the client recognises something again. It is kept unchanged, or refused if that is impossible. */
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

interface PartInput {
  readonly text?: string | null | undefined
  readonly imageUrl?: string | null | undefined
}

export function checkedMessages(field: string, inputs: readonly MessageInput[]): GivenMessage[] {
  checkedCount(field, inputs, { max: maxMessages })
  return inputs.map((input, index) => checkedMessage(`${field}.${index}`, input))
}

export function checkedMessage(field: string, input: MessageInput): GivenMessage {
  return {
    role: input.role ?? 'USER',
    content: checkedContent(field, input),
    clientId: checkedToken(`${field}.clientId`, input.clientId),
  }
}

function checkedContent(field: string, { role, text, content }: MessageInput): ContentPart[] {
  if (typeof text === 'string' && content) {
    throw badUserInput(`${field}.content`, 'It cannot be combined with `text`. Give one of the two.')
  }
  if (typeof text === 'string') return [{ text: checkedWords(`${field}.text`, text) }]
  if (!content) throw badUserInput(`${field}.text`, 'It is missing. Give either `text` or `content`.')
  if (content.length === 0) throw badUserInput(`${field}.content`, 'It is empty. Expected at least one part.')
  checkedCount(`${field}.content`, content, { max: maxParts })
  return content.map((part, index) => {
    if (typeof part.text === 'string') return { text: checkedWords(`${field}.content.${index}.text`, part.text) }
    const place = `${field}.content.${index}.imageUrl`
    if (role === 'SYSTEM') throw badUserInput(place, 'It is an image. A SYSTEM message must contain only text.')
    return { imageUrl: checkedImageUrl(place, part.imageUrl ?? '') }
  })
}

/** Models refuse text that is only white space. */
function checkedWords(field: string, value: string): string {
  const text = checkedText(field, value, { max: maxTextCharacters })
  if (text.trim() === '') throw badUserInput(field, 'It is empty. Expected text that is not only white space.')
  return text
}

function checkedImageUrl(field: string, value: string): string {
  const isData = /^data:image\/[a-z0-9.+-]+;base64,[A-Za-z0-9+/]+={0,2}$/.test(value)
  if (isData || (/^https?:\/\//i.test(value) && URL.canParse(value))) return storableText(value)
  throw badUserInput(
    field,
    `${shown(value)} is not the address of an image. Expected an http or https URL, or data:image/…;base64,….`,
  )
}

interface ClientToolInput {
  readonly name: string
  readonly description?: string | null | undefined
  readonly parameters?: Json | undefined
}

export function checkedClientTools(field: string, inputs: readonly ClientToolInput[]): ClientTool[] {
  checkedCount(field, inputs, { max: maxClientTools })
  const tools = inputs.map((input, index) => ({
    name: checkedToolName(`${field}.${index}.name`, input.name),
    description: checkedText(`${field}.${index}.description`, input.description ?? '', { max: 10_000 }),
    parameters: checkedObjectSchema(
      `${field}.${index}.parameters`,
      input.parameters ?? { type: 'object', properties: {} },
    ),
  }))
  checkedDistinct(
    field,
    tools.map((tool) => tool.name),
  )
  return tools
}
