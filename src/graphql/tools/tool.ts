import { deleteTool, updateTool, upsertTool } from '../../commands/tools/upsert-tool.ts'
import type { Tool as ToolShape } from '../../domain/tools/tool.ts'
import { listToolsPage } from '../../store/tools/tools.ts'
import { builder } from '../builder.ts'
import { connectionType, filterBy, pageOf } from '../connection.ts'
import { describedEnum } from '../described-enum.ts'
import { boolean, given, id, implement, int, json, of, string, strings, time } from '../fields.ts'
import { deletion, mutation, payload } from '../mutation.ts'
import { Node, queryById, requireUuid } from '../node.ts'

const ToolKind = describedEnum('ToolKind', 'Where a tool runs.', {
  BUILTIN: 'In the server. The tool ships with the server or is registered in code.',
  JAVASCRIPT: 'In a sandbox. The tool is JavaScript source without access to network, files or timers.',
  HTTP: 'At an address that the server posts the arguments to.',
  MCP: 'In a Model Context Protocol server.',
  CLIENT: 'In a client. The run waits until a client returns the result.',
})

/** `mcp-server.ts` adds the field for its server. */
export const Tool = builder.objectRef<ToolShape>('Tool')
implement(Tool, {
  description:
    'Something that agents can do. A tool exists once per tenant and can be attached to any number of agents.',
  interfaces: [Node],
  fields: (t) => ({
    name: string('Name by which models call the tool. Unique in the tenant.'),
    description: string('Tells the model what the tool does.'),
    kind: of(ToolKind)('Where the tool runs.'),
    parameters: json('JSON Schema of the arguments.'),
    requiresApproval: boolean(
      'Whether calls need approval. Not used if `approvalCondition` is set. Defaults to false.',
    ),
    approvalCondition: json.orNull(
      'JSON Schema. If set, exactly the calls whose arguments satisfy it need approval; a condition that cannot be evaluated counts as satisfied. Null means that `requiresApproval` decides.',
    ),
    approvalsRequired: int('How many different actors must approve a call. Defaults to 1.'),
    approvalExcludesSender: boolean(
      'Whether the actor who started the run is barred from approving its calls of this tool. Defaults to false.',
    ),
    approvalTimeoutMs: int.orNull(
      'Time after which an undecided call is denied. Null means that it waits without limit.',
    ),
    parallel: boolean('Whether a call may run at the same time as other calls of its step. Defaults to false.'),
    idempotent: boolean('Whether a call is safe to repeat after a crash left its outcome unknown. Defaults to false.'),
    returnCharLimit: int('Maximum number of characters in a result. Longer results are truncated. Defaults to 50,000.'),
    timeoutMs: int('Time after which a running call is stopped and returns an error. Defaults to 60,000.'),
    tags: strings('Tags to filter by.'),
    source: t.field({
      ...string.orNull('JAVASCRIPT: source code. Null for other kinds.'),
      resolve: (tool) => (tool.kind === 'JAVASCRIPT' ? tool.source : null),
    }),
    url: t.field({
      ...string.orNull('HTTP: address that the arguments are posted to. Null for other kinds.'),
      resolve: (tool) => (tool.kind === 'HTTP' ? tool.url : null),
    }),
    headerNames: t.field({
      ...strings.orNull('HTTP: names of the stored headers. Their values cannot be read. Null for other kinds.'),
      resolve: (tool) => (tool.kind === 'HTTP' ? Object.keys(tool.headers) : null),
    }),
    isAvailable: boolean(
      'False for a BUILTIN tool that is gone from the code of the server. Models are not offered it, and it can be deleted.',
    ),
    createdAt: time('When the tool was created.'),
    updatedAt: time('When the tool last changed.'),
  }),
})

queryById(Tool, 'Tool')

const ToolFilter = builder.inputType('ToolFilter', {
  description: 'Which tools to list. Omitted fields do not filter; all given fields must match.',
  fields: given({
    nameContains: string('Part of the name, ignoring case.'),
    names: strings('Tools with exactly one of these names.'),
    kinds: of([ToolKind])('Tools of one of these kinds.'),
  }),
})

builder.queryField('tools', (t) =>
  t.field({
    ...pageOf(connectionType('Tool', Tool), 'Tools of the tenant.', filterBy(ToolFilter, 'tools')),
    resolve: (_root, { filter, ...page }, { db, viewer }) => listToolsPage(db, viewer, filter ?? {}, page),
  }),
)

const JavaScriptToolInput = builder.inputType('JavaScriptToolInput', {
  description: 'A tool that runs in a sandbox of the server.',
  fields: given({
    source: string.required(
      'Source of a module whose default export is a function `(args) => result`. At most 500,000 characters.',
    ),
  }),
})

const HttpToolInput = builder.inputType('HttpToolInput', {
  description: 'A tool that the server calls by HTTP.',
  fields: given({
    url: string.required(
      'Address that the arguments are posted to, starting with http:// or https://. At most 2,000 characters.',
    ),
    headers: json(
      'Headers to send with every call: an object of strings, at most 50. Omit to keep stored headers; null removes them.',
    ),
  }),
})

const ToolImplementationInput = builder.inputType('ToolImplementationInput', {
  description: 'Where a tool runs.',
  isOneOf: true,
  fields: given({
    javascript: of(JavaScriptToolInput)('In a sandbox of the server.'),
    http: of(HttpToolInput)('At an address that the server calls.'),
    client: boolean('In a client. Must be true.'),
  }),
})

/** The settings that a tool is created with and that a change may set. */
const settings = {
  description: string('Tells the model what the tool does, at most 10,000 characters. Empty by default.'),
  parameters: json('JSON Schema of the arguments, with type object, at most 64 KB. Defaults to no arguments.'),
  requiresApproval: boolean('Whether calls need approval. Not used if `approvalCondition` is set. Defaults to false.'),
  approvalCondition: json(
    'JSON Schema, at most 64 KB. If set, exactly the calls whose arguments satisfy it need approval. Defaults to null.',
  ),
  approvalsRequired: int('How many different actors must approve a call, 1 to 10. Defaults to 1.'),
  approvalExcludesSender: boolean(
    'Whether the actor who started the run is barred from approving its calls of this tool. Defaults to false.',
  ),
  approvalTimeoutMs: int('Time after which an undecided call is denied, in milliseconds. Defaults to null: no limit.'),
  parallel: boolean('Whether a call may run at the same time as other calls of its step. Defaults to false.'),
  idempotent: boolean('Whether a call is safe to repeat after a crash left its outcome unknown. Defaults to false.'),
  returnCharLimit: int('Maximum number of characters in a result. Defaults to 50,000, at most 10,000,000.'),
  timeoutMs: int('Time after which a running call is stopped. Defaults to 60,000, at most 86,400,000.'),
}

mutation('upsertTool', {
  description: 'Creates a tool, or replaces the tool with this name.',
  input: {
    description: 'A complete tool. Omitted settings get their defaults, also if a tool with this name exists.',
    fields: {
      name: string.required('Name by which models call the tool: 1 to 64 characters of a–z, A–Z, 0–9, _ and -.'),
      ...settings,
      tags: strings('Tags to filter by: at most 50, each at most 64 characters.'),
      implementation: of(ToolImplementationInput).required('Where the tool runs.'),
    },
  },
  result: payload('tool', Tool, 'The new or replaced tool.'),
  resolve: (input, context) => upsertTool(context, context.viewer, input),
})

mutation('updateTool', {
  description: 'Changes a tool of any kind.',
  input: {
    description:
      'Changes to a tool. Omitted fields stay unchanged, and null restores the default. The description, parameters and implementation of BUILTIN and MCP tools cannot be changed.',
    fields: {
      id: id.required('Id of the tool.'),
      ...settings,
      tags: strings('All tags of the tool: at most 50, each at most 64 characters.'),
      implementation: of(ToolImplementationInput)('Where the tool runs. Must not be null.'),
    },
  },
  result: payload('tool', Tool, 'The changed tool.'),
  resolve: (input, context) => updateTool(context, context.viewer, { ...input, id: requireUuid('Tool', input.id) }),
})

deletion('deleteTool', {
  description: 'Deletes a tool and detaches it from all agents. Built-in tools cannot be deleted.',
  kind: 'Tool',
  command: deleteTool,
})
