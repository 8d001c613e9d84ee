import { coerceInputValue, type GraphQLSchema, isInputType } from 'graphql'

import type { CreateAgentInput } from '../../commands/agents/create-agent.ts'
import { importAgent, type ImportedTool } from '../../commands/agents/import-agent.ts'
import type { UpsertToolInput } from '../../commands/tools/upsert-tool.ts'
import { type DocumentTool, readAgentDocument } from '../../domain/agents/agent-document.ts'
import { badUserInput } from '../../domain/errors.ts'
import type { PassageInput } from '../../domain/memory/passage.ts'
import type { Json } from '../../util/json.ts'
import { json } from '../fields.ts'
import { idempotencyKeyField, mutation, payload } from '../mutation.ts'
import { Agent } from './agent.ts'

mutation('importAgent', {
  description:
    'Creates an agent from a document of `Agent.export`. A tool that exists under the same name is used unchanged, and a missing one is created. Secrets such as headers must be set afterwards.',
  input: {
    description: 'An agent to import.',
    fields: {
      document: json.required('Document from `Agent.export`, of this or another server.'),
      idempotencyKey: idempotencyKeyField,
    },
  },
  result: payload('agent', Agent, 'The new agent.'),
  resolve: (input, context, { schema }) => {
    const { agent, tools, passages } = readAgentDocument('input.document', input.document ?? null)
    return importAgent(context, context.viewer, {
      request: { ...input, document: input.document ?? null },
      agent: coerced(schema, 'CreateAgentInput', 'input.document.agent', agent) as CreateAgentInput,
      passages: passages.map(
        (passage, index) =>
          coerced(schema, 'PassageInput', `input.document.passages.${index}`, passage) as PassageInput,
      ),
      tools: tools.map((tool, index) => toImportedTool(schema, `input.document.tools.${index}`, tool)),
    })
  },
})

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
