import { storableText } from '../util/json.ts'
import type { ModelMessage } from './model-request.ts'
import type { ToolResult } from './tool-call.ts'

/** A result as it may be stored: no longer than the tool's limit, and of text that can be stored. */
export function truncateResult(
  result: Pick<ToolResult, 'status' | 'output' | 'stdout' | 'stderr'>,
  charLimit: number,
): Omit<ToolResult, 'durationMs'> {
  const output = cut(result.output, charLimit)
  const [stdout, stderr] = [result.stdout, result.stderr].map((lines) => cutLines(lines, charLimit))
  return {
    status: result.status,
    output: output.text,
    stdout: stdout!.lines,
    stderr: stderr!.lines,
    truncated: output.truncated || stdout!.truncated || stderr!.truncated,
  }
}

/** What a model is sent: no return takes more than a fifth of its context window. What is stored stays whole. */
export function cutReturns(messages: readonly ModelMessage[], contextWindow: number): ModelMessage[] {
  const limit = Math.max(5_000, Math.floor(contextWindow / 5) * 4)
  return messages.map((message) =>
    message.role === 'tool'
      ? { ...message, returns: message.returns.map((one) => ({ ...one, output: cut(one.output, limit).text })) }
      : message,
  )
}

/** It says where it was cut and not how much is missing: what comes out of a sandbox has been cut before. */
function cut(given: string, limit: number): { readonly text: string; readonly truncated: boolean } {
  const text = storableText(given)
  if (text.length <= limit) return { text, truncated: false }
  return {
    text: `${text.slice(0, limit).toWellFormed()}\n[cut after ${limit} characters]`,
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
