import type { Json } from '../../util/json.ts'
import { defaultCompaction, type Agent, type CompactionSettings } from './agent.ts'
import { defaultModelSettings, type ModelSettings } from '../models/model-settings.ts'
import { badUserInput } from '../errors.ts'
import {
  checkedCount,
  checkedName,
  checkedNumber,
  checkedObject,
  checkedResponseSchema,
  checkedTags,
  checkedText,
  checkedTimezone,
  mergeFields,
  shown,
  unchecked,
  type GivenFields,
} from '../input.ts'
import type { ModelCatalog } from '../models/model.ts'

export type ModelSettingsInput = GivenFields<ModelSettings>
export type CompactionSettingsInput = GivenFields<CompactionSettings>

/** An agent's own settings, without its tools, rules and blocks. */
export type AgentSettings = Pick<
  Agent,
  | 'name'
  | 'description'
  | 'instructions'
  | 'model'
  | 'embeddingModel'
  | 'modelSettings'
  | 'compaction'
  | 'keepRequests'
  | 'tags'
  | 'metadata'
  | 'timezone'
  | 'tellTimes'
>

export type AgentSettingsInput = GivenFields<
  Omit<AgentSettings, 'modelSettings' | 'compaction' | 'metadata'> & {
    readonly modelSettings: ModelSettingsInput
    readonly compaction: CompactionSettingsInput
    readonly metadata: Json
  }
>

const defaults = {
  description: null,
  instructions: '',
  embeddingModel: null,
  modelSettings: defaultModelSettings,
  compaction: defaultCompaction,
  tags: [],
  metadata: {},
  timezone: 'UTC',
  keepRequests: false,
  tellTimes: false,
} as const

/** A new agent before its input is merged. A name and a model must be given. */
export const unsetAgent: AgentSettings = { name: '', model: '', ...defaults }

/** Omitted fields stay unchanged, also inside nested settings. Null restores the default. */
export function mergeAgentSettings(
  current: AgentSettings,
  input: AgentSettingsInput,
  models: ModelCatalog,
): AgentSettings {
  return mergeFields('input', input, {
    current,
    defaults,
    checks: {
      name: (field, name) => checkedName(field, name, { max: 200 }),
      description: (field, text) => checkedText(field, text, { max: 10_000 }),
      instructions: (field, text) => checkedText(field, text, { max: 200_000 }),
      model: (field, handle) => checkedModel(field, handle, models),
      embeddingModel: (field, handle) => checkedEmbeddingModel(field, handle, models),
      modelSettings: (field, settings) => mergeModelSettings(field, current.modelSettings, settings, models),
      compaction: (field, settings) => mergeCompaction(field, current.compaction, settings, models),
      tags: checkedTags,
      metadata: checkedObject,
      timezone: checkedTimezone,
      keepRequests: unchecked,
      tellTimes: unchecked,
    },
  })
}

function mergeModelSettings(
  field: string,
  current: ModelSettings,
  input: ModelSettingsInput,
  models: ModelCatalog,
): ModelSettings {
  const count = (to: number) => (place: string, value: number) => checkedNumber(place, value, { from: 1, to })
  return mergeFields(field, input, {
    current,
    defaults: defaultModelSettings,
    checks: {
      temperature: (place, value) => checkedNumber(place, value, { from: 0, to: 2 }),
      maxOutputTokens: count(1_000_000),
      contextWindow: count(10_000_000),
      parallelToolCalls: unchecked,
      reasoningEffort: unchecked,
      reasoningBudget: count(1_000_000),
      responseSchema: checkedResponseSchema,
      fallbacks(place, handles) {
        checkedCount(place, handles, { max: 10 })
        return handles.map((handle, index) => checkedModel(`${place}.${index}`, handle, models))
      },
    },
  })
}

export function mergeCompaction(
  field: string,
  current: CompactionSettings,
  input: CompactionSettingsInput,
  models: ModelCatalog,
): CompactionSettings {
  return mergeFields(field, input, {
    current,
    defaults: defaultCompaction,
    checks: {
      mode: unchecked,
      model: (place, handle) => checkedModel(place, handle, models),
      prompt: (place, text) => checkedText(place, text, { max: 50_000 }),
      keepRatio: (place, ratio) => checkedNumber(place, ratio, { from: 0, to: 1 }),
    },
  })
}

function checkedEmbeddingModel(field: string, handle: string, models: ModelCatalog): string {
  if (!models.embeds(handle))
    throw badUserInput(
      field,
      `There is no embedding model ${shown(handle)}. Expected a handle such as openai/text-embedding-3-small or demo/embedding.`,
    )
  return checkedAccess(field, handle, models)
}

function checkedAccess(field: string, handle: string, models: ModelCatalog): string {
  const missing = models.missingFor(handle)
  if (missing === undefined) return handle
  throw badUserInput(field, `${missing}, so ${handle} cannot be called. Set it and restart the server.`)
}

function checkedModel(field: string, handle: string, models: ModelCatalog): string {
  if (models.find(handle)) return checkedAccess(field, handle, models)
  const handles = models.list().flatMap((model) => (model.isConfigured ? [model.handle] : []))
  const named = handles.slice(0, 50).join(', ') + (handles.length > 50 ? ' …' : '')
  throw badUserInput(field, `There is no model ${shown(handle)}. Use one of: ${named}.`)
}
