import type { CompactionSettings as CompactionSettingsShape } from '../../domain/agents/agent.ts'
import { builder } from '../builder.ts'
import { describedEnum } from '../described-enum.ts'
import { float, given, implement, of, string } from '../fields.ts'

const CompactionMode = describedEnum('CompactionMode', 'What compaction summarizes.', {
  ALL: 'All messages.',
  SLIDING_WINDOW: 'Older messages. Recent ones are kept.',
})

export const CompactionSettings = builder.objectRef<CompactionSettingsShape>('CompactionSettings')
implement(CompactionSettings, {
  description: 'How the context is shortened when it grows too long.',
  fields: () => ({
    mode: of(CompactionMode)('What is summarized.'),
    model: string.orNull("Handle of the model that writes summaries. Null means the agent's model."),
    prompt: string.orNull('Instructions for writing summaries. Null means the built-in ones.'),
    keepRatio: float('SLIDING_WINDOW: share of recent messages to keep, 0 to 1. Defaults to 0.7.'),
  }),
})

export const CompactionSettingsInput = builder.inputType('CompactionSettingsInput', {
  description:
    'Compaction settings. Omitted settings stay unchanged, or get their default in a new agent; null restores it.',
  fields: given({
    mode: of(CompactionMode)('What is summarized. Defaults to SLIDING_WINDOW.'),
    model: string("Handle of the model that writes summaries. Defaults to the agent's model."),
    prompt: string('Instructions for writing summaries, at most 50,000 characters. Defaults to the built-in ones.'),
    keepRatio: float('SLIDING_WINDOW: share of recent messages to keep, 0 to 1. Defaults to 0.7.'),
  }),
})
