import type { Tool as ToolShape } from '../../domain/tools/tool.ts'
import { listToolsPage } from '../../store/tools/tools.ts'
import { builder, orNull, type InputFieldBuilder } from '../builder.ts'
import { describedEnum } from '../described-enum.ts'
import { connectionType, listArguments, pageComplexity } from '../connection.ts'
import { Node, queryById, requireUuid } from '../node.ts'
import { deleteTool, updateTool, upsertTool } from '../../commands/tools/upsert-tool.ts'
import { deletion, mutation, payload } from '../mutation.ts'

const ToolKind = describedEnum('ToolKind', 'Where a tool runs.', {
  BUILTIN: 'In the server. The tool ships with the server or is registered in code.',
  JAVASCRIPT: 'In a sandbox. The tool is JavaScript source without access to network, files or timers.',
  HTTP: 'At an address that the server posts the arguments to.',
  MCP: 'In a Model Context Protocol server.',
  CLIENT: 'In a client. The run waits until a client returns the result.',
})

/** `mcp-server.ts` adds the field for its server. */
export const Tool = builder.objectRef<ToolShape>('Tool')
Tool.implement({
  description:
    'Something that agents can do. A tool exists once per tenant and can be attached to any number of agents.',
  interfaces: [Node],
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name by which models call the tool. Unique in the tenant.' }),
    description: t.exposeString('description', { description: 'Tells the model what the tool does.' }),
    kind: t.expose('kind', { type: ToolKind, description: 'Where the tool runs.' }),
    parameters: t.expose('parameters', {
      type: 'JSON',
      description: 'JSON Schema of the arguments.',
    }),
    requiresApproval: t.exposeBoolean('requiresApproval', {
      description: 'Whether calls need approval. Not used if `approvalCondition` is set. Defaults to false.',
    }),
    approvalCondition: t.expose(
      'approvalCondition',
      orNull(
        'JSON Schema. If set, exactly the calls whose arguments satisfy it need approval; a condition that cannot be evaluated counts as satisfied. Null means that `requiresApproval` decides.',
        'JSON',
      ),
    ),
    approvalsRequired: t.exposeInt('approvalsRequired', {
      description: 'How many different actors must approve a call. Defaults to 1.',
    }),
    approvalExcludesSender: t.exposeBoolean('approvalExcludesSender', {
      description:
        'Whether the actor who started the run is barred from approving its calls of this tool. Defaults to false.',
    }),
    approvalTimeoutMs: t.exposeInt(
      'approvalTimeoutMs',
      orNull('Time after which an undecided call is denied. Null means that it waits without limit.'),
    ),
    parallel: t.exposeBoolean('parallel', {
      description: 'Whether a call may run at the same time as other calls of its step. Defaults to false.',
    }),
    idempotent: t.exposeBoolean('idempotent', {
      description: 'Whether a call is safe to repeat after a crash left its outcome unknown. Defaults to false.',
    }),
    returnCharLimit: t.exposeInt('returnCharLimit', {
      description: 'Maximum number of characters in a result. Longer results are truncated. Defaults to 50,000.',
    }),
    timeoutMs: t.exposeInt('timeoutMs', {
      description: 'Time after which a running call is stopped and returns an error. Defaults to 60,000.',
    }),
    tags: t.exposeStringList('tags', { description: 'Tags to filter by.' }),
    source: t.string({
      ...orNull('JAVASCRIPT: source code. Null for other kinds.'),
      resolve: (tool) => (tool.kind === 'JAVASCRIPT' ? tool.source : null),
    }),
    url: t.string({
      ...orNull('HTTP: address that the arguments are posted to. Null for other kinds.'),
      resolve: (tool) => (tool.kind === 'HTTP' ? tool.url : null),
    }),
    headerNames: t.stringList({
      ...orNull('HTTP: names of the stored headers. Their values cannot be read. Null for other kinds.'),
      resolve: (tool) => (tool.kind === 'HTTP' ? Object.keys(tool.headers) : null),
    }),
    isAvailable: t.exposeBoolean('isAvailable', {
      description:
        'False for a BUILTIN tool that is gone from the code of the server. Models are not offered it, and it can be deleted.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the tool was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the tool last changed.' }),
  }),
})

queryById(Tool, 'Tool')

const ToolFilter = builder.inputType('ToolFilter', {
  description: 'Which tools to list. Omitted fields do not filter; all given fields must match.',
  fields: (t) => ({
    nameContains: t.string({ description: 'Part of the name, ignoring case.' }),
    names: t.stringList({ description: 'Tools with exactly one of these names.' }),
    kinds: t.field({ type: [ToolKind], description: 'Tools of one of these kinds.' }),
  }),
})

builder.queryField('tools', (t) =>
  t.field({
    type: connectionType('Tool', Tool),
    description: 'Tools of the tenant.',
    args: listArguments(ToolFilter, 'tools'),
    complexity: pageComplexity,
    resolve: (_root, { filter, ...page }, { db, viewer }) => listToolsPage(db, viewer, filter ?? {}, page),
  }),
)

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

/** The settings that a tool is created with and that a change may set. */
const settings = (t: InputFieldBuilder) => ({
  description: t.string({
    description: 'Tells the model what the tool does, at most 10,000 characters. Empty by default.',
  }),
  parameters: t.field({
    type: 'JSON',
    description: 'JSON Schema of the arguments, with type object, at most 64 KB. Defaults to no arguments.',
  }),
  requiresApproval: t.boolean({
    description: 'Whether calls need approval. Not used if `approvalCondition` is set. Defaults to false.',
  }),
  approvalCondition: t.field({
    type: 'JSON',
    description:
      'JSON Schema, at most 64 KB. If set, exactly the calls whose arguments satisfy it need approval. Defaults to null.',
  }),
  approvalsRequired: t.int({
    description: 'How many different actors must approve a call, 1 to 10. Defaults to 1.',
  }),
  approvalExcludesSender: t.boolean({
    description:
      'Whether the actor who started the run is barred from approving its calls of this tool. Defaults to false.',
  }),
  approvalTimeoutMs: t.int({
    description: 'Time after which an undecided call is denied, in milliseconds. Defaults to null: no limit.',
  }),
  parallel: t.boolean({
    description: 'Whether a call may run at the same time as other calls of its step. Defaults to false.',
  }),
  idempotent: t.boolean({
    description: 'Whether a call is safe to repeat after a crash left its outcome unknown. Defaults to false.',
  }),
  returnCharLimit: t.int({
    description: 'Maximum number of characters in a result. Defaults to 50,000, at most 10,000,000.',
  }),
  timeoutMs: t.int({
    description: 'Time after which a running call is stopped. Defaults to 60,000, at most 86,400,000.',
  }),
})

mutation('upsertTool', {
  description: 'Creates a tool, or replaces the tool with this name.',
  input: {
    description: 'A complete tool. Omitted settings get their defaults, also if a tool with this name exists.',
    fields: (t) => ({
      name: t.string({
        required: true,
        description: 'Name by which models call the tool: 1 to 64 characters of a–z, A–Z, 0–9, _ and -.',
      }),
      ...settings(t),
      tags: t.stringList({ description: 'Tags to filter by: at most 50, each at most 64 characters.' }),
      implementation: t.field({
        type: ToolImplementationInput,
        required: true,
        description: 'Where the tool runs.',
      }),
    }),
  },
  result: payload('tool', Tool, 'The new or replaced tool.'),
  resolve: (input, context) => upsertTool(context, context.viewer, input),
})

mutation('updateTool', {
  description: 'Changes a tool of any kind.',
  input: {
    description:
      'Changes to a tool. Omitted fields stay unchanged, and null restores the default. The description, parameters and implementation of BUILTIN and MCP tools cannot be changed.',
    fields: (t) => ({
      id: t.id({ required: true, description: 'Id of the tool.' }),
      ...settings(t),
      tags: t.stringList({ description: 'All tags of the tool: at most 50, each at most 64 characters.' }),
      implementation: t.field({ type: ToolImplementationInput, description: 'Where the tool runs. Must not be null.' }),
    }),
  },
  result: payload('tool', Tool, 'The changed tool.'),
  resolve: (input, context) => updateTool(context, context.viewer, { ...input, id: requireUuid('Tool', input.id) }),
})

deletion('deleteTool', {
  description: 'Deletes a tool and detaches it from all agents. Built-in tools cannot be deleted.',
  kind: 'Tool',
  command: deleteTool,
})
