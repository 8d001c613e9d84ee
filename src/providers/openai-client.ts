import type OpenAI from 'openai'

import type { ReasoningEffort } from '../domain/agent.ts'
import { sdkOptions, type Access } from './access.ts'

/** Makes the client when it is first needed: loading the SDK takes a quarter of a second that a start need not wait. */
export function lazyOpenAI(access: Access): () => Promise<OpenAI> {
  let client: Promise<OpenAI> | undefined
  const create = async () => {
    const { OpenAI } = await import('openai')
    // Null, not undefined: then the SDK does not look for an address of its own.
    return new OpenAI({ ...sdkOptions, apiKey: access.apiKey ?? 'none', baseURL: access.baseUrl ?? null })
  }
  return () => (client ??= create())
}

/** These refuse a temperature, and some of them parallel_tool_calls; they take a reasoning effort. */
export function isReasoningModel(name: string): boolean {
  return /^(o\d|codex|gpt-oss|gpt-(?:[5-9]|\d\d))/.test(name) && !name.includes('-chat')
}

export function takesParallelSwitch(name: string): boolean {
  return !/^o\d/.test(name)
}

/** 'minimal' is of the first GPT-5 models alone. */
export function effortOf(effort: ReasoningEffort, name: string): 'minimal' | 'low' | 'medium' | 'high' {
  if (effort === 'MINIMAL') return /^gpt-5(-|$)/.test(name) ? 'minimal' : 'low'
  return effort.toLowerCase() as 'low' | 'medium' | 'high'
}
