import { defineTool, type ToolDefinition } from '../../src/tools/registry.ts'

/** Every execution, in the order in which they started. */
export const executions: string[] = []

/** The tools of the seed suite. Agents of the tests let `get_secret_code` wait for approval. */
export const secretTools: readonly ToolDefinition[] = [
  defineTool({
    name: 'get_secret_code',
    description: 'The secret code of a text.',
    parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    run: ({ text }) => {
      executions.push(`get_secret_code ${text}`)
      return secretOf(String(text))
    },
  }),
  defineTool({
    name: 'roll_dice',
    description: 'A number between 1 and the number of sides.',
    parameters: { type: 'object', properties: { sides: { type: 'integer' } }, required: ['sides'] },
    run: ({ sides }) => {
      executions.push(`roll_dice ${sides}`)
      return `rolled ${sides}`
    },
  }),
]

export function secretOf(text: string): string {
  return Array.from(text).toReversed().join('')
}

export const secretAgent = { tools: [{ name: 'get_secret_code', approvalOverride: true }, 'roll_dice'] }
