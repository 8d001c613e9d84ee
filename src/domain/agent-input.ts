import type { Json, JsonObject } from '../util/json.ts'
import {
  defaultCompaction,
  defaultModelSettings,
  type Agent,
  type CompactionMode,
  type CompactionSettings,
  type ModelSettings,
  type ReasoningEffort,
} from './agent.ts'
import { badUserInput } from './errors.ts'
import {
  checkedCount,
  checkedName,
  checkedNumber,
  checkedObject,
  checkedResponseSchema,
  checkedTags,
  checkedText,
  checkedTimezone,
  merged,
  mergedRequired,
  shown,
  type Given,
} from './input.ts'
import type { ModelCatalog } from './models/model.ts'

export interface ModelSettingsInput {
  readonly temperature?: Given<number>
  readonly maxOutputTokens?: Given<number>
  readonly contextWindow?: Given<number>
  readonly parallelToolCalls?: Given<boolean>
  readonly reasoningEffort?: Given<ReasoningEffort>
  readonly reasoningBudget?: Given<number>
  readonly responseSchema?: Given<Json>
  readonly fallbacks?: Given<readonly string[]>
}

export interface CompactionSettingsInput {
  readonly mode?: Given<CompactionMode>
  readonly model?: Given<string>
  readonly prompt?: Given<string>
  readonly keepRatio?: Given<number>
}

/** An agent's own settings, without its tools, rules and blocks. */
export type AgentSettings = Pick<
  Agent,
  | 'name'
  | 'description'
  | 'instructions'
  | 'model'
  | 'modelSettings'
  | 'compaction'
  | 'keepRequests'
  | 'tags'
  | 'metadata'
  | 'timezone'
  | 'tellTimes'
>

export interface AgentSettingsInput {
  readonly name?: Given<string>
  readonly description?: Given<string>
  readonly instructions?: Given<string>
  readonly model?: Given<string>
  readonly modelSettings?: Given<ModelSettingsInput>
  readonly compaction?: Given<CompactionSettingsInput>
  readonly tags?: Given<readonly string[]>
  readonly metadata?: Given<Json>
  readonly timezone?: Given<string>
  readonly keepRequests?: Given<boolean>
  readonly tellTimes?: Given<boolean>
}

/** The defaults of a new agent. A name and a model must be given. */
export const unsetAgent: AgentSettings = {
  name: '',
  description: null,
  instructions: '',
  model: '',
  modelSettings: defaultModelSettings,
  compaction: defaultCompaction,
  tags: [],
  metadata: {},
  timezone: 'UTC',
  keepRequests: false,
  tellTimes: false,
}

/** Omitted fields stay unchanged, also inside nested settings. Null restores the default. */
export function mergeAgentSettings(
  current: AgentSettings,
  input: AgentSettingsInput,
  models: ModelCatalog,
): AgentSettings {
  return {
    name: mergedRequired('input.name', input.name, {
      current: current.name,
      check: (name) => checkedName('input.name', name, { max: 200 }),
    }),
    description: merged(input.description, {
      current: current.description,
      cleared: null,
      check: (description) => checkedText('input.description', description, { max: 10_000 }),
    }),
    instructions: merged(input.instructions, {
      current: current.instructions,
      cleared: unsetAgent.instructions,
      check: (instructions) => checkedText('input.instructions', instructions, { max: 200_000 }),
    }),
    model: mergedRequired('input.model', input.model, {
      current: current.model,
      check: (model) => checkedModel('input.model', model, models),
    }),
    modelSettings: merged(input.modelSettings, {
      current: current.modelSettings,
      cleared: defaultModelSettings,
      check: (settings) => mergeModelSettings('input.modelSettings', current.modelSettings, settings, models),
    }),
    compaction: merged(input.compaction, {
      current: current.compaction,
      cleared: defaultCompaction,
      check: (compaction) => mergeCompaction('input.compaction', current.compaction, compaction, models),
    }),
    tags: merged<readonly string[], readonly string[]>(input.tags, {
      current: current.tags,
      cleared: [],
      check: (tags) => checkedTags('input.tags', tags),
    }),
    metadata: merged<Json, JsonObject>(input.metadata, {
      current: current.metadata,
      cleared: {},
      check: (metadata) => checkedObject('input.metadata', metadata),
    }),
    timezone: merged(input.timezone, {
      current: current.timezone,
      cleared: unsetAgent.timezone,
      check: (timezone) => checkedTimezone('input.timezone', timezone),
    }),
    keepRequests: merged(input.keepRequests, { current: current.keepRequests, cleared: false, check: (keep) => keep }),
    tellTimes: merged(input.tellTimes, { current: current.tellTimes, cleared: false, check: (tell) => tell }),
  }
}

function mergeModelSettings(
  field: string,
  current: ModelSettings,
  input: ModelSettingsInput,
  models: ModelCatalog,
): ModelSettings {
  const number = (name: 'temperature' | 'maxOutputTokens' | 'contextWindow' | 'reasoningBudget', to: number) =>
    merged(input[name], {
      current: current[name],
      cleared: defaultModelSettings[name],
      check: (value) => checkedNumber(`${field}.${name}`, value, { from: name === 'temperature' ? 0 : 1, to }),
    })
  return {
    temperature: number('temperature', 2),
    maxOutputTokens: number('maxOutputTokens', 1_000_000),
    contextWindow: number('contextWindow', 10_000_000),
    parallelToolCalls: merged(input.parallelToolCalls, {
      current: current.parallelToolCalls,
      cleared: defaultModelSettings.parallelToolCalls,
      check: (value) => value,
    }),
    reasoningEffort: merged(input.reasoningEffort, {
      current: current.reasoningEffort,
      cleared: defaultModelSettings.reasoningEffort,
      check: (value) => value,
    }),
    reasoningBudget: number('reasoningBudget', 1_000_000),
    responseSchema: merged<Json, Json>(input.responseSchema, {
      current: current.responseSchema,
      cleared: defaultModelSettings.responseSchema,
      check: (schema) => checkedResponseSchema(`${field}.responseSchema`, schema),
    }),
    fallbacks: merged<readonly string[], readonly string[]>(input.fallbacks, {
      current: current.fallbacks,
      cleared: defaultModelSettings.fallbacks,
      check: (handles) => {
        checkedCount(`${field}.fallbacks`, handles, { max: 10 })
        return handles.map((handle, place) => checkedModel(`${field}.fallbacks.${place}`, handle, models))
      },
    }),
  }
}

export function mergeCompaction(
  field: string,
  current: CompactionSettings,
  input: CompactionSettingsInput,
  models: ModelCatalog,
): CompactionSettings {
  return {
    mode: merged(input.mode, { current: current.mode, cleared: defaultCompaction.mode, check: (mode) => mode }),
    model: merged(input.model, {
      current: current.model,
      cleared: defaultCompaction.model,
      check: (model) => checkedModel(`${field}.model`, model, models),
    }),
    prompt: merged(input.prompt, {
      current: current.prompt,
      cleared: defaultCompaction.prompt,
      check: (prompt) => checkedText(`${field}.prompt`, prompt, { max: 50_000 }),
    }),
    keepRatio: merged(input.keepRatio, {
      current: current.keepRatio,
      cleared: defaultCompaction.keepRatio,
      check: (ratio) => checkedNumber(`${field}.keepRatio`, ratio, { from: 0, to: 1 }),
    }),
  }
}

function checkedModel(field: string, handle: string, models: ModelCatalog): string {
  if (models.find(handle)) {
    const missing = models.missingFor(handle)
    if (missing === undefined) return handle
    throw badUserInput(field, `${missing}, so ${handle} cannot be called. Set it and restart the server.`)
  }
  const handles = models.list().flatMap((model) => (model.isConfigured ? [model.handle] : []))
  const named = handles.slice(0, 50).join(', ') + (handles.length > 50 ? ' …' : '')
  throw badUserInput(field, `There is no model ${shown(handle)}. Use one of: ${named}.`)
}
