import { deleteTool } from '../commands/delete-tool.ts'
import { updateTool } from '../commands/update-tool.ts'
import { upsertTool } from '../commands/upsert-tool.ts'
import { builder } from './builder.ts'
import { requireUuid } from './node.ts'
import { deletedPayloadType, payloadType } from './payload.ts'
import { Tool } from './tool.ts'

const JavaScriptToolInput = builder.inputType('JavaScriptToolInput', {
  description: 'A tool that runs in a sandbox of the server.',
  fields: (t) => ({
    source: t.string({
      required: true,
      description:
        'Source of a module whose default export is a function `(args) => result`. At most 500,000 characters.',
    }),
  }),
})

const HttpToolInput = builder.inputType('HttpToolInput', {
  description: 'A tool that the server calls by HTTP.',
  fields: (t) => ({
    url: t.string({
      required: true,
      description:
        'Address that the arguments are posted to, starting with http:// or https://. At most 2,000 characters.',
    }),
    headers: t.field({
      type: 'JSON',
      description:
        'Headers to send with every call: an object of strings, at most 50. Omit to keep stored headers; null removes them.',
    }),
  }),
})

const ToolImplementationInput = builder.inputType('ToolImplementationInput', {
  description: 'Where a tool runs.',
  isOneOf: true,
  fields: (t) => ({
    javascript: t.field({ type: JavaScriptToolInput, description: 'In a sandbox of the server.' }),
    http: t.field({ type: HttpToolInput, description: 'At an address that the server calls.' }),
    client: t.boolean({ description: 'In a client. Must be true.' }),
  }),
})

const descriptions = {
  description: 'Tells the model what the tool does, at most 10,000 characters. Empty by default.',
  parameters: 'JSON Schema of the arguments, with type object, at most 64 KB. Defaults to no arguments.',
  requiresApproval: 'Whether calls need approval. Not used if `approvalCondition` is set. Defaults to false.',
  approvalCondition:
    'JSON Schema, at most 64 KB. If set, exactly the calls whose arguments satisfy it need approval. Defaults to null.',
  approvalsRequired: 'How many different actors must approve a call, 1 to 10. Defaults to 1.',
  approvalExcludesSender:
    'Whether the actor who started the run is barred from approving its calls of this tool. Defaults to false.',
  approvalTimeoutMs: 'Time after which an undecided call is denied, in milliseconds. Defaults to null: no limit.',
  parallel: 'Whether a call may run at the same time as other calls of its step. Defaults to false.',
  idempotent: 'Whether a call is safe to repeat after a crash left its outcome unknown. Defaults to false.',
  returnCharLimit: 'Maximum number of characters in a result. Defaults to 50,000, at most 10,000,000.',
  timeoutMs: 'Time after which a running call is stopped. Defaults to 60,000, at most 86,400,000.',
  tags: 'Tags to filter by: at most 50, each at most 64 characters.',
  implementation: 'Where the tool runs.',
}

const UpsertToolInput = builder.inputType('UpsertToolInput', {
  description: 'A complete tool. Omitted settings get their defaults, also if a tool with this name exists.',
  fields: (t) => ({
    name: t.string({
      required: true,
      description: 'Name by which models call the tool: 1 to 64 characters of a–z, A–Z, 0–9, _ and -.',
    }),
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
  description:
    'Changes to a tool. Omitted fields stay unchanged, and null restores the default. The description, parameters and implementation of BUILTIN and MCP tools cannot be changed.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'Id of the tool.' }),
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
    tags: t.stringList({ description: 'All tags of the tool: at most 50, each at most 64 characters.' }),
    parameters: t.field({ type: 'JSON', description: descriptions.parameters }),
    implementation: t.field({ type: ToolImplementationInput, description: 'Where the tool runs. Must not be null.' }),
  }),
})

const DeleteToolInput = builder.inputType('DeleteToolInput', {
  description: 'The tool to delete.',
  fields: (t) => ({ id: t.id({ required: true, description: 'Id of the tool.' }) }),
})

builder.mutationFields((t) => ({
  upsertTool: t.field({
    type: payloadType('UpsertToolPayload', 'tool', Tool, 'The new or replaced tool.'),
    nullable: true,
    description: 'Creates a tool, or replaces the tool with this name.',
    args: {
      input: t.arg({
        type: UpsertToolInput,
        required: true,
        description: 'A complete tool. Omitted settings get their defaults, also if a tool with this name exists.',
      }),
    },
    resolve: (_root, { input }, context) =>
      upsertTool(context, context.viewer, {
        ...input,
        // GraphQL has checked that exactly one of them is given.
        implementation: input.implementation,
      }),
  }),
  updateTool: t.field({
    type: payloadType('UpdateToolPayload', 'tool', Tool, 'The changed tool.'),
    nullable: true,
    description: 'Changes a tool of any kind.',
    args: {
      input: t.arg({
        type: UpdateToolInput,
        required: true,
        description:
          'Changes to a tool. Omitted fields stay unchanged, and null restores the default. The description, parameters and implementation of BUILTIN and MCP tools cannot be changed.',
      }),
    },
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
    description: 'Deletes a tool and detaches it from all agents. Built-in tools cannot be deleted.',
    args: { input: t.arg({ type: DeleteToolInput, required: true, description: 'The tool to delete.' }) },
    async resolve(_root, { input }, context) {
      await deleteTool(context, context.viewer, { id: requireUuid('Tool', input.id) })
      return input.id
    },
  }),
}))
