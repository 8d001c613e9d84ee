import type { ReasoningEffort } from '../../domain/models/model-settings.ts'

/** A model of OpenAI itself, not an open model on another server. */
export function isOpenaiModel(name: string): boolean {
  return /^(gpt-|o\d|chatgpt-|codex)/.test(name) && !name.startsWith('gpt-oss')
}

/** These refuse a temperature, some also parallel_tool_calls. They accept a reasoning effort. */
export function isReasoningModel(name: string): boolean {
  return /^(o\d|codex|gpt-oss|gpt-(?:[5-9]|\d\d))/.test(name) && !name.includes('-chat')
}

export function takesParallelSwitch(name: string): boolean {
  return !/^o\d/.test(name)
}

/** Only the first GPT-5 models have 'minimal'. */
export function effortOf(effort: ReasoningEffort, name: string): 'minimal' | 'low' | 'medium' | 'high' {
  const minimal = /^gpt-5(-|$)/.test(name) ? 'minimal' : 'low'
  return ({ MINIMAL: minimal, LOW: 'low', MEDIUM: 'medium', HIGH: 'high' } as const)[effort]
}
