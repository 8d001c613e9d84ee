import { alongList } from '../../util/along-list.ts'
import { cutText, parseStorable, sameJson, storableJson, storableText, type Json } from '../../util/json.ts'
import { textOf } from '../conversations/content.ts'
import type { ModelMessage, ModelToolReturn } from '../models/model-request.ts'
import type { ToolResult } from './tool-call.ts'

type GivenResult = Pick<ToolResult, 'status' | 'output' | 'content' | 'json' | 'stdout' | 'stderr'>

/**
 * A result that can be stored: its text is no longer than the tool's limit and contains nothing that Postgres refuses.
 * A structured result that is too long is dropped, because half of it would not be JSON.
 */
export function truncateResult(result: GivenResult, charLimit: number): Omit<ToolResult, 'durationMs'> {
  const content = result.content && cutParts(result.content, charLimit)
  const output = content ? { ...content, text: textOf(content.parts) } : cut(result.output, charLimit)
  const structured = structuredResult(result, output.text, charLimit)
  const stdout = cutLines(result.stdout, charLimit)
  const stderr = cutLines(result.stderr, charLimit)
  return {
    status: result.status,
    output: output.text,
    ...(content && { content: content.parts }),
    ...(structured.json !== undefined && { json: structured.json }),
    stdout: stdout.lines,
    stderr: stderr.lines,
    truncated: output.truncated || structured.truncated || stdout.truncated || stderr.truncated,
  }
}

/**
 * Limits each return in a model request to a fifth of the context window. Stored returns stay complete. Messages that
 * need no cut are returned as they are.
 */
export function cutReturns(messages: readonly ModelMessage[], contextWindow: number): readonly ModelMessage[] {
  const limit = Math.max(5_000, Math.floor(contextWindow / 5) * 4)
  if (longestReturn(messages) <= limit) return messages
  return messages.map((message) => {
    if (message.role !== 'tool' || message.returns.every((one) => lengthOf(one) <= limit)) return message
    return { ...message, returns: message.returns.map((one) => cutReturn(one, limit)) }
  })
}

const longestReturn = alongList(
  () => 0,
  (longest, message: ModelMessage) =>
    message.role === 'tool' ? Math.max(longest, ...message.returns.map(lengthOf)) : longest,
)

function lengthOf({ output, content = [] }: ModelToolReturn): number {
  const inParts = content.reduce((total, part) => total + ('text' in part ? part.text.length : 0), 0)
  return Math.max(output.length, inParts)
}

function cutReturn(one: ModelToolReturn, limit: number): ModelToolReturn {
  const content = one.content && cutParts(one.content, limit).parts
  return { ...one, output: cut(one.output, limit).text, ...(content && { content }) }
}

/** The output as JSON: the tool's structured result, otherwise the output parsed as JSON, otherwise null. */
export function jsonOf({ json, output }: Pick<ToolResult, 'json' | 'output'>): Json {
  return json ?? parseStorable(output) ?? null
}

function structuredResult(
  { json }: GivenResult,
  output: string,
  charLimit: number,
): { readonly json?: Json; readonly truncated: boolean } {
  if (json === undefined || json === null) return { truncated: false }
  try {
    const storable = storableJson(json)
    if (sameJson(parseStorable(output), storable)) return { truncated: false }
    if (JSON.stringify(storable).length <= charLimit) return { json: storable, truncated: false }
  } catch {
    // It is nested too deeply to be stored.
  }
  return { truncated: true }
}

/** Cuts the text of all parts to one common limit. Parts that are not text stay. */
function cutParts<Part extends object>(parts: readonly Part[], limit: number) {
  const kept: Part[] = []
  let left = limit
  let truncated = false
  for (const part of parts) {
    if (!('text' in part)) kept.push(part)
    else if (left <= 0) truncated = true
    else {
      const shown = cut(part.text as string, left)
      kept.push({ ...part, text: shown.text })
      left -= shown.text.length
      truncated ||= shown.truncated
    }
  }
  return { parts: kept, truncated }
}

/** Says where the text was cut, not how much is missing, because the sandbox may have cut it before. */
function cut(given: string, limit: number): { readonly text: string; readonly truncated: boolean } {
  const text = storableText(given)
  if (text.length <= limit) return { text, truncated: false }
  return {
    text: `${cutText(text, limit)}\n[cut after ${limit} characters]`,
    truncated: true,
  }
}

function cutLines(lines: readonly string[], limit: number) {
  const kept: string[] = []
  let left = limit
  for (const line of lines) {
    if (left <= 0) return { lines: kept, truncated: true }
    const { text, truncated } = cut(line, left)
    kept.push(text)
    left -= text.length
    if (truncated) return { lines: kept, truncated: true }
  }
  return { lines: kept, truncated: false }
}
