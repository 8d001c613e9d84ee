import type { CreateAgentInput, ReasoningEffort, ToolRuleInput, ToolRuleKind } from '../../client/schema-types.ts'
import type { AgentSettings } from './documents.ts'
import { pretty } from './format.ts'
import { jsonOf, listOf, numberOf } from './parse.ts'

export type ApprovalChoice = 'DEFAULT' | 'ALWAYS' | 'NEVER'

export interface RuleDraft {
  readonly kind: ToolRuleKind
  readonly tool: string
  readonly children: string
  readonly maxCalls: string
  readonly outputMapping: string
  readonly defaultChild: string
  readonly requireMapping: boolean
  readonly prefilledArguments: string
}

export interface BlockDraft {
  readonly label: string
  readonly value: string
  readonly description: string
}

/** The fields of the form, as text if a person types them. */
export interface AgentForm {
  readonly name: string
  readonly description: string
  readonly model: string
  readonly instructions: string
  /** By the id of the tool. */
  readonly tools: Readonly<Record<string, ApprovalChoice>>
  readonly includeBaseTools: boolean
  readonly rules: readonly RuleDraft[]
  readonly blockIds: readonly string[]
  readonly newBlocks: readonly BlockDraft[]
  readonly compactionMode: 'ALL' | 'SLIDING_WINDOW'
  readonly compactionModel: string
  readonly compactionPrompt: string
  readonly keepRatio: string
  readonly hasSleeptime: boolean
  readonly frequency: string
  readonly temperature: string
  readonly maxOutputTokens: string
  readonly contextWindow: string
  readonly parallelToolCalls: boolean
  readonly reasoningEffort: ReasoningEffort | ''
  readonly reasoningBudget: string
  readonly responseSchema: string
  readonly fallbacks: string
  readonly keepRequests: boolean
  readonly tellTimes: boolean
  readonly tags: string
  readonly timezone: string
  readonly metadata: string
}

export type SetForm = (part: Partial<AgentForm>) => void

export const emptyRule: RuleDraft = {
  kind: 'REQUIRES_APPROVAL',
  tool: '',
  children: '',
  maxCalls: '',
  outputMapping: '',
  defaultChild: '',
  requireMapping: false,
  prefilledArguments: '',
}

/** A value as a person types it. Empty if there is none. */
const text = (value: unknown): string => (value === null || value === undefined ? '' : pretty(value))

export function formOf(agent: AgentSettings | undefined): AgentForm {
  const settings = agent?.modelSettings
  return {
    name: agent?.name ?? '',
    description: agent?.description ?? '',
    model: agent?.model ?? '',
    instructions: agent?.instructions ?? '',
    tools: Object.fromEntries(
      (agent?.tools ?? []).map(({ tool, approvalOverride }) => [
        tool.id,
        approvalOverride === null ? 'DEFAULT' : approvalOverride ? 'ALWAYS' : 'NEVER',
      ]),
    ),
    includeBaseTools: agent === undefined,
    rules: (agent?.toolRules ?? []).map((rule) => ({
      kind: rule.kind,
      tool: rule.tool,
      children: rule.children?.join(', ') ?? '',
      maxCalls: text(rule.maxCalls),
      outputMapping: text(rule.outputMapping),
      defaultChild: rule.defaultChild ?? '',
      requireMapping: rule.requireMapping ?? false,
      prefilledArguments: text(rule.prefilledArguments),
    })),
    blockIds: agent?.blocks.map(({ id }) => id) ?? [],
    newBlocks: [],
    compactionMode: agent?.compaction.mode ?? 'SLIDING_WINDOW',
    compactionModel: agent?.compaction.model ?? '',
    compactionPrompt: agent?.compaction.prompt ?? '',
    keepRatio: text(agent?.compaction.keepRatio ?? 0.7),
    hasSleeptime: agent?.sleeptime != null,
    frequency: text(agent?.sleeptime?.frequency ?? 1),
    temperature: text(settings?.temperature),
    maxOutputTokens: text(settings?.maxOutputTokens),
    contextWindow: text(settings?.contextWindow),
    parallelToolCalls: settings?.parallelToolCalls ?? true,
    reasoningEffort: settings?.reasoningEffort ?? '',
    reasoningBudget: text(settings?.reasoningBudget),
    responseSchema: text(settings?.responseSchema),
    fallbacks: settings?.fallbacks.join(', ') ?? '',
    keepRequests: agent?.keepRequests ?? false,
    tellTimes: agent?.tellTimes ?? false,
    tags: agent?.tags.join(', ') ?? '',
    timezone: agent?.timezone ?? '',
    metadata: agent && Object.keys(agent.metadata as object).length > 0 ? pretty(agent.metadata) : '',
  }
}

/** The part of the input that is common to creating and changing an agent. */
export function inputOf(form: AgentForm): Omit<CreateAgentInput, 'blocks' | 'blockIds' | 'includeBaseTools'> {
  return {
    name: form.name,
    model: form.model,
    instructions: form.instructions,
    description: form.description || null,
    tools: Object.entries(form.tools).map(([toolId, choice]) => ({
      toolId,
      approvalOverride: choice === 'DEFAULT' ? null : choice === 'ALWAYS',
    })),
    toolRules: form.rules.map(ruleOf),
    compaction: {
      mode: form.compactionMode,
      model: form.compactionModel || null,
      prompt: form.compactionPrompt || null,
      keepRatio: numberOf(form.keepRatio, 'keepRatio'),
    },
    modelSettings: {
      temperature: numberOf(form.temperature, 'temperature'),
      maxOutputTokens: numberOf(form.maxOutputTokens, 'maxOutputTokens'),
      contextWindow: numberOf(form.contextWindow, 'contextWindow'),
      parallelToolCalls: form.parallelToolCalls,
      reasoningEffort: form.reasoningEffort || null,
      reasoningBudget: numberOf(form.reasoningBudget, 'reasoningBudget'),
      responseSchema: jsonOf(form.responseSchema, 'responseSchema'),
      fallbacks: listOf(form.fallbacks),
    },
    keepRequests: form.keepRequests,
    tellTimes: form.tellTimes,
    tags: listOf(form.tags),
    timezone: form.timezone || null,
    metadata: jsonOf(form.metadata, 'metadata'),
  }
}

/** Only the fields that belong to the rule's kind. */
function ruleOf(rule: RuleDraft): ToolRuleInput {
  const { kind, tool } = rule
  const prefilled = rule.prefilledArguments.trim()
    ? { prefilledArguments: jsonOf(rule.prefilledArguments, 'prefilledArguments') }
    : {}
  switch (kind) {
    case 'CHILDREN':
    case 'PARENT':
      return { kind, tool, children: listOf(rule.children), ...prefilled }
    case 'CONDITIONAL':
      return {
        kind,
        tool,
        outputMapping: jsonOf(rule.outputMapping, 'outputMapping'),
        defaultChild: rule.defaultChild || null,
        requireMapping: rule.requireMapping,
        ...prefilled,
      }
    case 'MAX_CALLS':
      return { kind, tool, maxCalls: numberOf(rule.maxCalls, 'maxCalls') }
    case 'RUN_FIRST':
      return { kind, tool, ...prefilled }
    default:
      return { kind, tool }
  }
}
