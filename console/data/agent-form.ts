import type {
  CreateAgentInput,
  ReasoningEffort,
  ToolRuleInput,
  ToolRuleKind,
  UpdateAgentInput,
} from '../../client/schema-types.ts'
import type { AgentSettings, ToolOption } from './documents.ts'
import type { Fields, ProblemOf } from './bind.ts'
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
  readonly embeddingModel: string
  readonly keepRequests: boolean
  readonly tellTimes: boolean
  readonly tags: string
  readonly timezone: string
  readonly metadata: string
}

export interface AgentFields extends Fields<AgentForm> {
  readonly problemOf: ProblemOf
}

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
    embeddingModel: agent?.embeddingModel ?? '',
    keepRequests: agent?.keepRequests ?? false,
    tellTimes: agent?.tellTimes ?? false,
    tags: agent?.tags.join(', ') ?? '',
    timezone: agent?.timezone ?? '',
    metadata: agent && Object.keys(agent.metadata as object).length > 0 ? pretty(agent.metadata) : '',
  }
}

/** What people call the fields. */
const labels: Readonly<Record<keyof AgentForm, string>> = {
  name: 'Name',
  description: 'Description',
  model: 'Model',
  instructions: 'Instructions',
  tools: 'Tools and their approval',
  includeBaseTools: 'Tools and their approval',
  rules: 'Tool rules',
  blockIds: 'Memory blocks',
  newBlocks: 'Memory blocks',
  compactionMode: 'What is summarised',
  compactionModel: 'Model for summaries',
  compactionPrompt: 'Prompt for summaries',
  keepRatio: 'Share that is kept',
  hasSleeptime: 'Sleeptime',
  frequency: 'Sleeptime',
  temperature: 'Temperature',
  maxOutputTokens: 'Maximum answer tokens',
  contextWindow: 'Context window in tokens',
  parallelToolCalls: 'Several tool calls in one answer',
  reasoningEffort: 'Reasoning',
  reasoningBudget: 'Maximum reasoning tokens',
  responseSchema: 'Response schema',
  fallbacks: 'Fallback models',
  embeddingModel: 'Embedding model',
  keepRequests: 'Keep requests and responses',
  tellTimes: 'Show times to the model',
  tags: 'Tags',
  timezone: 'Time zone',
  metadata: 'Metadata',
}

/** The names of the fields in this part of a form, each once. */
export const namesOf = (part: Partial<AgentForm>): string =>
  [...new Set(Object.keys(part).map((field) => labels[field as keyof AgentForm]))].join(', ')

/** The fields in which a form differs from another one. */
export const changedFields = (form: AgentForm, base: AgentForm): (keyof AgentForm)[] =>
  (Object.keys(labels) as (keyof AgentForm)[]).filter((field) => !isSame(valueAt(form, field), valueAt(base, field)))

/** The fields that a person has changed while someone else has changed them in another way. */
export function fieldsInConflict(form: AgentForm, base: AgentForm, theirs: AgentForm): (keyof AgentForm)[] {
  const [mine, others] = [changedFields(form, base), changedFields(theirs, base)]
  return changedFields(form, theirs).filter((field) => mine.includes(field) && others.includes(field))
}

export const pick = (form: AgentForm, fields: readonly string[]): Partial<AgentForm> =>
  Object.fromEntries(Object.entries(form).filter(([field]) => fields.includes(field)))

/** Both fields of sleeptime are one setting, since there is no frequency without it. */
const valueAt = (form: AgentForm, field: keyof AgentForm): unknown =>
  field === 'hasSleeptime' || field === 'frequency' ? form.hasSleeptime && form.frequency : form[field]

const isSame = (one: unknown, other: unknown): boolean => textOf(one) === textOf(other)

/** The order of an object's fields has no meaning: a tool that is removed and added again is the same. */
const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) =>
    part && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  )

/** The tools that `includeBaseTools` adds. */
const baseTools: readonly string[] = [
  'memory_insert',
  'memory_replace',
  'conversation_search',
  'archival_memory_insert',
  'archival_memory_search',
]

export const isBaseTool = (form: AgentForm, { kind, name }: ToolOption): boolean =>
  form.includeBaseTools && kind === 'BUILTIN' && baseTools.includes(name)

/** Whether calls of the tool need approval. Undefined if the agent does not have the tool. */
export const choiceOf = (form: AgentForm, tool: ToolOption): ApprovalChoice | undefined =>
  form.tools[tool.id] ?? (isBaseTool(form, tool) ? 'DEFAULT' : undefined)

/**
 * Only what a person has changed, also inside nested settings: what the server is not told stays as someone else may
 * have set it meanwhile.
 */
export function changesOf(form: AgentForm, base: AgentForm): Omit<UpdateAgentInput, 'id'> {
  const { compaction, modelSettings, ...others } = inputOf({ ...base, ...pick(form, changedFields(form, base)) })
  const before = inputOf(base)
  const nested = {
    compaction: differenceOf(compaction!, before.compaction!),
    modelSettings: differenceOf(modelSettings!, before.modelSettings!),
  }
  return { ...differenceOf(others, before), ...differenceOf(nested, { compaction: {}, modelSettings: {} }) }
}

/** The fields of an input that were not the same before. */
const differenceOf = <Input extends object>(input: Input, before: Input): Partial<Input> =>
  Object.fromEntries(
    Object.entries(input).filter(([name, value]) => !isSame(value, before[name as keyof Input])),
  ) as Partial<Input>

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
    toolRules: form.rules.map((rule, index) => ruleOf(rule, `toolRules.${index}`)),
    compaction: {
      mode: form.compactionMode,
      model: form.compactionModel || null,
      prompt: form.compactionPrompt || null,
      keepRatio: numberOf(form.keepRatio, 'compaction.keepRatio'),
    },
    modelSettings: {
      temperature: numberOf(form.temperature, 'modelSettings.temperature'),
      maxOutputTokens: numberOf(form.maxOutputTokens, 'modelSettings.maxOutputTokens'),
      contextWindow: numberOf(form.contextWindow, 'modelSettings.contextWindow'),
      parallelToolCalls: form.parallelToolCalls,
      reasoningEffort: form.reasoningEffort || null,
      reasoningBudget: numberOf(form.reasoningBudget, 'modelSettings.reasoningBudget'),
      responseSchema: jsonOf(form.responseSchema, 'modelSettings.responseSchema'),
      fallbacks: listOf(form.fallbacks),
    },
    embeddingModel: form.embeddingModel.trim() || null,
    keepRequests: form.keepRequests,
    tellTimes: form.tellTimes,
    tags: listOf(form.tags),
    timezone: form.timezone || null,
    metadata: jsonOf(form.metadata, 'metadata'),
  }
}

/** The fields that a rule of this kind has besides its tool. */
export function ruleFieldsOf(kind: ToolRuleKind): readonly RuleField[] {
  switch (kind) {
    case 'CHILDREN':
    case 'PARENT':
      return ['children', 'prefilledArguments']
    case 'CONDITIONAL':
      return ['outputMapping', 'defaultChild', 'requireMapping', 'prefilledArguments']
    case 'MAX_CALLS':
      return ['maxCalls']
    case 'RUN_FIRST':
      return ['prefilledArguments']
    default:
      return []
  }
}

type RuleField = Exclude<keyof RuleDraft, 'kind' | 'tool'>

/** Only the fields that belong to the rule's kind. `path` is where the rule is in the input. */
function ruleOf(rule: RuleDraft, path: string): ToolRuleInput {
  const readers: Readonly<Record<RuleField, () => Partial<ToolRuleInput>>> = {
    children: () => ({ children: listOf(rule.children) }),
    maxCalls: () => ({ maxCalls: numberOf(rule.maxCalls, `${path}.maxCalls`) }),
    outputMapping: () => ({ outputMapping: jsonOf(rule.outputMapping, `${path}.outputMapping`) }),
    defaultChild: () => ({ defaultChild: rule.defaultChild || null }),
    requireMapping: () => ({ requireMapping: rule.requireMapping }),
    prefilledArguments: () =>
      rule.prefilledArguments.trim()
        ? { prefilledArguments: jsonOf(rule.prefilledArguments, `${path}.prefilledArguments`) }
        : {},
  }
  const parts = ruleFieldsOf(rule.kind).map((field) => readers[field]())
  return Object.assign({ kind: rule.kind, tool: rule.tool }, ...parts) as ToolRuleInput
}
