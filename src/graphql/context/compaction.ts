import type { CompactionSettings as CompactionSettingsShape } from '../../domain/agents/agent.ts'
import { builder, orNull } from '../builder.ts'
import { describedEnum } from '../described-enum.ts'

const CompactionMode = describedEnum('CompactionMode', 'What compaction summarizes.', {
  ALL: 'All messages.',
  SLIDING_WINDOW: 'Older messages. Recent ones are kept.',
})

export const CompactionSettings = builder.objectRef<CompactionSettingsShape>('CompactionSettings')
CompactionSettings.implement({
  description: 'How the context is shortened when it grows too long.',
  fields: (t) => ({
    mode: t.expose('mode', { type: CompactionMode, description: 'What is summarized.' }),
    model: t.exposeString('model', orNull("Handle of the model that writes summaries. Null means the agent's model.")),
    prompt: t.exposeString('prompt', orNull('Instructions for writing summaries. Null means the built-in ones.')),
    keepRatio: t.exposeFloat('keepRatio', {
      description: 'SLIDING_WINDOW: share of recent messages to keep, 0 to 1. Defaults to 0.7.',
    }),
  }),
})

export const CompactionSettingsInput = builder.inputType('CompactionSettingsInput', {
  description:
    'Compaction settings. Omitted settings stay unchanged, or get their default in a new agent; null restores it.',
  fields: (t) => ({
    mode: t.field({ type: CompactionMode, description: 'What is summarized. Defaults to SLIDING_WINDOW.' }),
    model: t.string({ description: "Handle of the model that writes summaries. Defaults to the agent's model." }),
    prompt: t.string({
      description: 'Instructions for writing summaries, at most 50,000 characters. Defaults to the built-in ones.',
    }),
    keepRatio: t.float({ description: 'SLIDING_WINDOW: share of recent messages to keep, 0 to 1. Defaults to 0.7.' }),
  }),
})
