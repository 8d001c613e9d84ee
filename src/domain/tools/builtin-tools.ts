import type { Json, JsonObject } from '../../util/json.ts'

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
function memoryTool(
  name: string,
  description: string,
  properties: JsonObject,
  required: readonly string[] = [],
): BuiltinTool {
  const needed = required.length > 0 && { required }
  const parameters = { type: 'object', properties, ...needed, additionalProperties: false }
  return { name, description, parameters, parallel: false, idempotent: true }
}

export const builtinTools: readonly BuiltinTool[] = [
  memoryTool(
    'memory_insert',
    'Inserts text into a memory block, on new lines.',
    {
      label,
      new_string: { type: 'string', description: 'The text to insert.' },
      insert_line: {
        type: 'integer',
        minimum: -1,
        default: -1,
        description: 'Line after which the text is inserted. 0 means the beginning, -1 the end.',
      },
    },
    ['label', 'new_string'],
  ),
  memoryTool(
    'memory_replace',
    'Replaces text in a memory block. The old text must match exactly and occur exactly once.',
    {
      label,
      old_string: { type: 'string', minLength: 1, description: 'The text to replace, without line numbers.' },
      new_string: { type: 'string', description: 'The new text. Empty to delete the old text.' },
    },
    ['label', 'old_string', 'new_string'],
  ),
  memoryTool(
    'memory_rethink',
    'Rewrites a whole memory block. Use it when too much changes for single replacements.',
    {
      label,
      new_memory: {
        type: 'string',
        description: 'The complete new content of the block. It replaces the old content.',
      },
    },
    ['label', 'new_memory'],
  ),
  memoryTool('memory_finish_edits', 'Call this when the memory blocks are up to date and nothing is left to edit.', {}),
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
  {
    name: 'archival_memory_insert',
    description:
      'Adds a text to your archival memory, which is kept for good and found by meaning and by words. Store facts that may matter later and do not fit into a memory block, each as a text that makes sense on its own.',
    parameters: {
      type: 'object',
      properties: {
        content: { type: 'string', minLength: 1, description: 'The text to store, at most 20,000 characters.' },
        tags: { type: 'array', items: { type: 'string' }, description: 'Tags that searches can filter by.' },
      },
      required: ['content'],
      additionalProperties: false,
    },
    parallel: false,
    idempotent: true,
  },
  {
    name: 'archival_memory_search',
    description: 'Searches your archival memory by meaning and by words. The best matches come first.',
    parameters: {
      type: 'object',
      properties: {
        query: { type: 'string', minLength: 1, description: 'What to search for, in words or as a question.' },
        tags: { type: 'array', items: { type: 'string' }, description: 'Only texts that have all of these tags.' },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: 50,
          default: 10,
          description: 'Maximum number of texts to return.',
        },
      },
      required: ['query'],
      additionalProperties: false,
    },
    parallel: true,
    idempotent: true,
  },
]

/** The tools that `includeBaseTools` attaches. */
export const baseToolNames = [
  'memory_insert',
  'memory_replace',
  'conversation_search',
  'archival_memory_insert',
  'archival_memory_search',
] as const
