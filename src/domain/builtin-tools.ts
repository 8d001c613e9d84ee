import type { Json, JsonObject } from '../util/json.ts'

/** A tool of kind BUILTIN, as the code defines it. */
export interface BuiltinTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
  readonly parallel: boolean
  readonly idempotent: boolean
  /** The settings in the code. They apply until a client changes them. */
  readonly requiresApproval?: boolean
  readonly approvalCondition?: Json
  readonly approvalTimeoutMs?: number | null
  readonly timeoutMs?: number
  readonly returnCharLimit?: number
  readonly tags?: readonly string[]
}

const label = { type: 'string', description: 'The label of the memory block.' }

/**
 * Memory tools write our own tables in the checkpoint that stores their result. A call that a crash left without a
 * result has written nothing, so it is safe to run again. They run one after another, because each sees what the
 * previous one wrote.
 */
export const builtinTools: readonly BuiltinTool[] = [
  {
    name: 'memory_insert',
    description: 'Inserts text into a memory block, on new lines.',
    parameters: {
      type: 'object',
      properties: {
        label,
        new_string: { type: 'string', description: 'The text to insert.' },
        insert_line: {
          type: 'integer',
          minimum: -1,
          default: -1,
          description: 'Line after which the text is inserted. 0 means the beginning, -1 the end.',
        },
      },
      required: ['label', 'new_string'],
      additionalProperties: false,
    },
    parallel: false,
    idempotent: true,
  },
  {
    name: 'memory_replace',
    description: 'Replaces text in a memory block. The old text must match exactly and occur exactly once.',
    parameters: {
      type: 'object',
      properties: {
        label,
        old_string: { type: 'string', minLength: 1, description: 'The text to replace, without line numbers.' },
        new_string: { type: 'string', description: 'The new text. Empty to delete the old text.' },
      },
      required: ['label', 'old_string', 'new_string'],
      additionalProperties: false,
    },
    parallel: false,
    idempotent: true,
  },
  {
    name: 'memory_rethink',
    description: 'Rewrites a whole memory block. Use it when too much changes for single replacements.',
    parameters: {
      type: 'object',
      properties: {
        label,
        new_memory: {
          type: 'string',
          description: 'The complete new content of the block. It replaces the old content.',
        },
      },
      required: ['label', 'new_memory'],
      additionalProperties: false,
    },
    parallel: false,
    idempotent: true,
  },
  {
    name: 'memory_finish_edits',
    description: 'Call this when the memory blocks are up to date and nothing is left to edit.',
    parameters: { type: 'object', properties: {}, additionalProperties: false },
    parallel: false,
    idempotent: true,
  },
  {
    name: 'conversation_search',
    description: 'Searches the messages of this conversation, including those that are no longer in the context.',
    parameters: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'Words to search for. Omit it to filter by role or date only.' },
        roles: {
          type: 'array',
          items: { type: 'string', enum: ['user', 'assistant', 'system'] },
          description: 'Only messages of these roles.',
        },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: 50,
          default: 5,
          description: 'Maximum number of messages to return.',
        },
        start_date: { type: 'string', description: 'Only messages from this day or time on (ISO 8601).' },
        end_date: { type: 'string', description: 'Only messages up to this day or time (ISO 8601).' },
      },
      additionalProperties: false,
    },
    parallel: true,
    idempotent: true,
  },
]

/** The tools that `includeBaseTools` attaches. */
export const baseToolNames = ['memory_insert', 'memory_replace', 'conversation_search'] as const
