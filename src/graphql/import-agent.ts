import { coerceInputValue, isInputType, type GraphQLSchema } from 'graphql'

import type { CreateAgentInput } from '../commands/create-agent.ts'
import { importAgent, type ImportedTool } from '../commands/import-agent.ts'
import type { UpsertToolInput } from '../commands/upsert-tool.ts'
import { readAgentDocument, type DocumentTool } from '../domain/agents/agent-document.ts'
import { badUserInput } from '../domain/errors.ts'
import type { Json } from '../util/json.ts'
import { Agent } from './agent.ts'
import { builder } from './builder.ts'
import { payloadType } from './payload.ts'

const ImportAgentInput = builder.inputType('ImportAgentInput', {
  description: 'An agent to import.',
  fields: (t) => ({
    document: t.field({
      type: 'JSON',
      required: true,
      description: 'Document from `Agent.export`, of this or another server.',
    }),
  }),
})

builder.mutationField('importAgent', (t) =>
  t.field({
    type: payloadType('ImportAgentPayload', 'agent', Agent, 'The new agent.'),
    nullable: true,
    description:
      'Creates an agent from a document of `Agent.export`. A tool that exists under the same name is used unchanged, and a missing one is created. Secrets such as headers must be set afterwards.',
    args: { input: t.arg({ type: ImportAgentInput, required: true, description: 'An agent to import.' }) },
    resolve: (_root, { input }, context, { schema }) => {
      const { agent, tools } = readAgentDocument('input.document', input.document ?? null)
      return importAgent(context, context.viewer, {
        agent: coerced(schema, 'CreateAgentInput', 'input.document.agent', agent) as CreateAgentInput,
        tools: tools.map((tool, index) => toImportedTool(schema, `input.document.tools.${index}`, tool)),
      })
    },
  }),
)

function toImportedTool(schema: GraphQLSchema, field: string, tool: DocumentTool): ImportedTool {
  const { definition } = tool
  if (definition === undefined) return { ...tool, definition }
  const read = coerced(schema, 'UpsertToolInput', `${field}.definition`, definition) as UpsertToolInput
  return { ...tool, definition: read }
}

/** Reads a part of the document as GraphQL reads a variable of this type, so that both accept the same. */
function coerced(schema: GraphQLSchema, typeName: string, field: string, value: Json): unknown {
  const type = schema.getType(typeName)
  if (!isInputType(type)) throw new Error(`${typeName} is not an input type of the schema.`)
  return coerceInputValue(value, type, (path, _value, error) => {
    throw badUserInput([field, ...path].join('.'), error.message)
  })
}
