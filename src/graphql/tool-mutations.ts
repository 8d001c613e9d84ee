import { deleteTool } from '../commands/delete-tool.ts'
import { updateTool } from '../commands/update-tool.ts'
import { upsertTool } from '../commands/upsert-tool.ts'
import { toolDefaults } from '../domain/tool.ts'
import { builder } from './builder.ts'
import { requireUuid } from './node.ts'
import { deletedPayloadType, payloadType } from './payload.ts'
import { Tool } from './tool.ts'

const JavaScriptToolInput = builder.inputType('JavaScriptToolInput', {
  description: 'A tool that the server runs in a sandbox.',
  fields: (t) => ({
    source: t.string({
      required: true,
      description: "The body of a module whose default export is the tool's function: (args) => result.",
    }),
  }),
})

const HttpToolInput = builder.inputType('HttpToolInput', {
  description: 'A tool that the server calls by HTTP.',
  fields: (t) => ({
    url: t.string({ required: true, description: 'Where the arguments are posted to: http:// or https://.' }),
    headers: t.field({
      type: 'JSON',
      description: 'A JSON object of strings, sent with every call. The values can never be read again.',
    }),
  }),
})

const ToolImplementationInput = builder.inputType('ToolImplementationInput', {
  description: 'What happens when the tool is called: one of these.',
  isOneOf: true,
  fields: (t) => ({
    javascript: t.field({ type: JavaScriptToolInput, description: 'The server runs it in a sandbox.' }),
    http: t.field({ type: HttpToolInput, description: 'The server posts the arguments to a URL.' }),
    client: t.boolean({ description: 'true: the client runs it.' }),
  }),
})

const descriptions = {
  description: 'What models are told about it, 10,000 characters at the most.',
  parameters: 'JSON Schema of the arguments, with "type": "object"; no arguments by default.',
  requiresApproval: 'Whether calls need approval. Not used if `approvalCondition` is set. Defaults to false.',
  approvalCondition:
    'JSON Schema, at most 64 KB. If set, exactly the calls whose arguments satisfy it need approval. Defaults to null.',
  approvalsRequired: 'How many different actors must approve a call, 1 to 10. Defaults to 1.',
  approvalExcludesSender:
    'Whether the actor who started the run is barred from approving its calls of this tool. Defaults to false.',
  approvalTimeoutMs: 'A call that nobody has decided after this long is denied; it waits forever by default.',
  parallel: 'May run at the same time as other calls of one step; false by default.',
  idempotent: 'Safe to run again when a crash left its outcome unknown; false by default.',
  returnCharLimit: `Results longer than this are truncated; ${toolDefaults.returnCharLimit} by default.`,
  timeoutMs: `A call that takes longer is stopped; ${toolDefaults.timeoutMs} by default.`,
  tags: 'Words to find it by: 50 at the most, each of 64 characters at the most.',
  implementation: 'What happens when it is called.',
}

const UpsertToolInput = builder.inputType('UpsertToolInput', {
  description: 'A whole tool: what is left out has its default, also where a tool of that name is replaced.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'What models call it by: 1 to 64 of a–z, A–Z, 0–9, _ and -.' }),
    description: t.string({ description: descriptions.description }),
    parameters: t.field({ type: 'JSON', description: descriptions.parameters }),
    requiresApproval: t.boolean({ description: descriptions.requiresApproval }),
    approvalCondition: t.field({ type: 'JSON', description: descriptions.approvalCondition }),
    approvalsRequired: t.int({ description: descriptions.approvalsRequired }),
    approvalExcludesSender: t.boolean({ description: descriptions.approvalExcludesSender }),
    approvalTimeoutMs: t.int({ description: descriptions.approvalTimeoutMs }),
    parallel: t.boolean({ description: descriptions.parallel }),
    idempotent: t.boolean({ description: descriptions.idempotent }),
    returnCharLimit: t.int({ description: descriptions.returnCharLimit }),
    timeoutMs: t.int({ description: descriptions.timeoutMs }),
    tags: t.stringList({ description: descriptions.tags }),
    implementation: t.field({
      type: ToolImplementationInput,
      required: true,
      description: descriptions.implementation,
    }),
  }),
})

const UpdateToolInput = builder.inputType('UpdateToolInput', {
  description: 'What is left out stays as it is, stored headers too; null goes back to the default.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'tool_…' }),
    description: t.string({ description: descriptions.description }),
    requiresApproval: t.boolean({ description: descriptions.requiresApproval }),
    approvalCondition: t.field({ type: 'JSON', description: descriptions.approvalCondition }),
    approvalsRequired: t.int({ description: descriptions.approvalsRequired }),
    approvalExcludesSender: t.boolean({ description: descriptions.approvalExcludesSender }),
    approvalTimeoutMs: t.int({ description: descriptions.approvalTimeoutMs }),
    parallel: t.boolean({ description: descriptions.parallel }),
    idempotent: t.boolean({ description: descriptions.idempotent }),
    returnCharLimit: t.int({ description: descriptions.returnCharLimit }),
    timeoutMs: t.int({ description: descriptions.timeoutMs }),
    tags: t.stringList({ description: descriptions.tags }),
    parameters: t.field({ type: 'JSON', description: descriptions.parameters }),
    implementation: t.field({ type: ToolImplementationInput, description: descriptions.implementation }),
  }),
})

const DeleteToolInput = builder.inputType('DeleteToolInput', {
  description: 'Which tool to delete.',
  fields: (t) => ({ id: t.id({ required: true, description: 'tool_…' }) }),
})

builder.mutationFields((t) => ({
  upsertTool: t.field({
    type: payloadType('UpsertToolPayload', 'tool', Tool, 'The new or replaced tool.'),
    nullable: true,
    description: "Creates the tool, or replaces the tenant's tool of that name.",
    args: { input: t.arg({ type: UpsertToolInput, required: true, description: 'What it is to be.' }) },
    resolve: (_root, { input }, context) =>
      upsertTool(context, context.viewer, {
        ...input,
        // Exactly one of them is there: GraphQL has seen to it.
        implementation: input.implementation,
      }),
  }),
  updateTool: t.field({
    type: payloadType('UpdateToolPayload', 'tool', Tool, 'The changed tool.'),
    nullable: true,
    description: 'Of any kind. What is left out stays as it is, stored headers too.',
    args: { input: t.arg({ type: UpdateToolInput, required: true, description: 'What changes.' }) },
    resolve: (_root, { input }, context) =>
      updateTool(context, context.viewer, {
        ...input,
        id: requireUuid('Tool', input.id),
        implementation: input.implementation,
      }),
  }),
  deleteTool: t.field({
    type: deletedPayloadType('DeleteToolPayload', 'Id of the deleted tool.'),
    nullable: true,
    description: 'Deletes a tool; every agent that has it loses it. Built-in tools can only be detached.',
    args: { input: t.arg({ type: DeleteToolInput, required: true, description: 'Which one.' }) },
    async resolve(_root, { input }, context) {
      await deleteTool(context, context.viewer, { id: requireUuid('Tool', input.id) })
      return input.id
    },
  }),
}))
