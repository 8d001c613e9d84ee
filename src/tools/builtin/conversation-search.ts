import type { Db } from '../../store/database/schema.ts'
import { searchMessages, type SearchedType } from '../../store/conversations/search-messages.ts'
import { cutText, textIn, type JsonObject } from '../../util/json.ts'
import type { Execution, ToolOutput } from '../execution.ts'

const typesOfRole: Readonly<Record<string, readonly SearchedType[]>> = {
  user: ['USER'],
  assistant: ['ASSISTANT'],
  system: ['SYSTEM', 'SUMMARY'],
}
const roleOfType: Readonly<Record<SearchedType, string>> = {
  USER: 'user',
  ASSISTANT: 'assistant',
  SYSTEM: 'system',
  SUMMARY: 'system',
}
const maxTextLength = 2_000
const lastPosition = 2 ** 31 - 1

/** Searches the whole conversation except the current turn, which the model can see. */
export async function searchConversation(db: Db, args: JsonObject, { run, agent }: Execution): Promise<ToolOutput> {
  const roles = Array.isArray(args['roles']) ? args['roles'].map(textIn) : Object.keys(typesOfRole)
  const query = textIn(args['query']).trim()
  const found = await searchMessages(db, {
    conversationId: run.conversationId,
    before: run.firstPosition ?? lastPosition,
    query: query === '' ? null : query,
    types: roles.flatMap((role) => typesOfRole[role] ?? []),
    from: dateOf('start_date', args),
    to: dateOf('end_date', args),
    timezone: agent.timezone,
    limit: Number(args['limit'] ?? 5),
  })
  if (found.length === 0) return { ok: true, output: 'No message was found.' }
  const messages = found.map(({ type, text, createdAt }) => ({
    at: createdAt.toISOString(),
    role: roleOfType[type],
    text: text.length > maxTextLength ? `${cutText(text, maxTextLength)} …` : text,
  }))
  return { ok: true, output: JSON.stringify(messages, null, 1) }
}

function dateOf(name: string, args: JsonObject): string | null {
  const text = args[name]
  if (typeof text !== 'string' || text.trim() === '') return null
  if (!/^\d{4}-\d{2}-\d{2}/.test(text.trim()) || Number.isNaN(Date.parse(text)))
    throw new Error(`${name} takes a day such as 2026-01-31 or an instant such as 2026-01-31T12:00:00Z.`)
  return text.trim()
}
