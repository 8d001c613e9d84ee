import { badUserInput } from '../domain/errors.ts'
import {
  checkedCount,
  checkedDistinct,
  checkedObjectSchema,
  checkedText,
  checkedToolName,
  shown,
} from '../domain/input.ts'
import type { ContentPart, GivenMessage } from '../domain/message.ts'
import type { ClientTool } from '../domain/run.ts'
import { storableText, type Json } from '../util/json.ts'
import type { NewMessageInput } from './given-message.ts'

/** Checks of what the run commands are given. Each names the field at fault by its path. */

const maxWaitMs = 300_000
const maxMessages = 100
const maxParts = 50
const maxTextCharacters = 200_000
const maxClientTools = 128

/** Longer waits are cut to five minutes: whoever asks for more is answered then. */
export function checkedWait(field: string, waitMs: number): number {
  if (waitMs < 0) throw badUserInput(field, `${waitMs} is negative. It takes milliseconds from 0 to ${maxWaitMs}.`)
  return Math.min(waitMs, maxWaitMs)
}

/** Something the client recognises again: kept as it is, so refused where it could not be. */
export function checkedToken(field: string, value: string | null | undefined): string | null {
  if (value === null || value === undefined) return null
  if (value.length < 1 || value.length > 200) {
    throw badUserInput(field, `It has ${value.length} characters. It takes from 1 to 200.`)
  }
  if (storableText(value) !== value) {
    throw badUserInput(field, 'It holds a NUL character or half of a surrogate pair. It takes well-formed text.')
  }
  return value
}

type GivenInput = typeof NewMessageInput.$inferInput

export function checkedMessages(field: string, inputs: readonly GivenInput[]): GivenMessage[] {
  checkedCount(field, inputs, { max: maxMessages })
  return inputs.map((input, index) => checkedMessage(`${field}.${index}`, input))
}

function checkedMessage(field: string, input: GivenInput): GivenMessage {
  return {
    role: input.role ?? 'USER',
    content: checkedContent(field, input),
    clientId: checkedToken(`${field}.clientId`, input.clientId),
  }
}

function checkedContent(field: string, { role, text, content }: GivenInput): ContentPart[] {
  if (typeof text === 'string' && content) {
    throw badUserInput(`${field}.content`, 'It is given together with `text`. A message takes one of the two.')
  }
  if (typeof text === 'string') return [{ text: checkedWords(`${field}.text`, text) }]
  if (!content) throw badUserInput(`${field}.text`, 'It is missing. A message takes either `text` or `content`.')
  if (content.length === 0) throw badUserInput(`${field}.content`, 'It is empty. It takes one part or more.')
  checkedCount(`${field}.content`, content, { max: maxParts })
  return content.map((part, index) => {
    if (typeof part.text === 'string') return { text: checkedWords(`${field}.content.${index}.text`, part.text) }
    const place = `${field}.content.${index}.imageUrl`
    if (role === 'SYSTEM') throw badUserInput(place, 'It is an image. A SYSTEM message takes text alone.')
    return { imageUrl: checkedImageUrl(place, part.imageUrl ?? '') }
  })
}

/** Models refuse a text without a word in it. */
function checkedWords(field: string, value: string): string {
  const text = checkedText(field, value, { max: maxTextCharacters })
  if (text.trim() === '') throw badUserInput(field, 'It is empty. It takes text with more than white space in it.')
  return text
}

function checkedImageUrl(field: string, value: string): string {
  const isData = /^data:image\/[a-z0-9.+-]+;base64,[A-Za-z0-9+/]+={0,2}$/.test(value)
  if (isData || (/^https?:\/\//i.test(value) && URL.canParse(value))) return storableText(value)
  throw badUserInput(
    field,
    `${shown(value)} is no image's address. It takes an http or https URL, or data:image/…;base64,….`,
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
