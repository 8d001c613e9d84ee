import { encodeId } from '../domain/ids.ts'
import type { Tool as ToolShape } from '../domain/tools/tool.ts'
import { countTools, listToolsPage } from '../store/tools.ts'
import { builder } from './builder.ts'
import { connectionType, pageArguments, pageComplexity } from './connection.ts'
import { Node, registerNode, uuidOf } from './node.ts'

const ToolKind = builder.enumType('ToolKind', {
  description: 'Where a tool runs.',
  values: {
    BUILTIN: { description: 'In the server. The tool ships with the server or is registered in code.' },
    JAVASCRIPT: {
      description: 'In a sandbox. The tool is JavaScript source without access to network, files or timers.',
    },
    HTTP: { description: 'At an address that the server posts the arguments to.' },
    MCP: { description: 'In a Model Context Protocol server.' },
    CLIENT: { description: 'In a client. The run waits until a client returns the result.' },
  } as const,
})

/** `mcp-server.ts` adds the field for its server. */
export const Tool = builder.objectRef<ToolShape>('Tool')
Tool.implement({
  description:
    'Something that agents can do. A tool exists once per tenant and can be attached to any number of agents.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({ description: 'Id of the tool.', resolve: (tool) => encodeId('Tool', tool.id) }),
    name: t.exposeString('name', { description: 'Name by which models call the tool. Unique in the tenant.' }),
    description: t.exposeString('description', { description: 'Tells the model what the tool does.' }),
    kind: t.expose('kind', { type: ToolKind, description: 'Where the tool runs.' }),
    parameters: t.field({
      type: 'JSON',
      description: 'JSON Schema of the arguments.',
      resolve: (tool) => tool.parameters,
    }),
    requiresApproval: t.exposeBoolean('requiresApproval', {
      description: 'Whether calls need approval. Not used if `approvalCondition` is set. Defaults to false.',
    }),
    approvalCondition: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'JSON Schema. If set, exactly the calls whose arguments satisfy it need approval; a condition that cannot be evaluated counts as satisfied. Null means that `requiresApproval` decides.',
      resolve: (tool) => tool.approvalCondition,
    }),
    approvalsRequired: t.exposeInt('approvalsRequired', {
      description: 'How many different actors must approve a call. Defaults to 1.',
    }),
    approvalExcludesSender: t.exposeBoolean('approvalExcludesSender', {
      description:
        'Whether the actor who started the run is barred from approving its calls of this tool. Defaults to false.',
    }),
    approvalTimeoutMs: t.exposeInt('approvalTimeoutMs', {
      nullable: true,
      description: 'Time after which an undecided call is denied. Null means that it waits without limit.',
    }),
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
    tags: t.stringList({ description: 'Tags to filter by.', resolve: (tool) => [...tool.tags] }),
    source: t.string({
      nullable: true,
      description: 'JAVASCRIPT: source code. Null for other kinds.',
      resolve: (tool) => (tool.kind === 'JAVASCRIPT' ? tool.source : null),
    }),
    url: t.string({
      nullable: true,
      description: 'HTTP: address that the arguments are posted to. Null for other kinds.',
      resolve: (tool) => (tool.kind === 'HTTP' ? tool.url : null),
    }),
    headerNames: t.stringList({
      nullable: true,
      description: 'HTTP: names of the stored headers. Their values cannot be read. Null for other kinds.',
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

registerNode('Tool', { load: (context, { uuid }) => context.loaders.tools.load(uuid) })

const ToolConnection = connectionType('Tool', Tool)

const ToolFilter = builder.inputType('ToolFilter', {
  description: 'Which tools to list. Omitted fields do not filter; all given fields must match.',
  fields: (t) => ({
    nameContains: t.string({ description: 'Part of the name, ignoring case.' }),
    kinds: t.field({ type: [ToolKind], description: 'Tools of one of these kinds.' }),
  }),
})

builder.queryFields((t) => ({
  tool: t.field({
    type: Tool,
    nullable: true,
    description: 'Tool with this id. Null if there is none.',
    args: { id: t.arg.id({ required: true, description: 'Id of the tool.' }) },
    resolve(_root, { id }, context) {
      const uuid = uuidOf('Tool', id)
      return uuid === undefined ? null : context.loaders.tools.load(uuid)
    },
  }),
  tools: t.field({
    type: ToolConnection,
    description: 'Tools of the tenant.',
    args: {
      ...pageArguments,
      filter: t.arg({
        type: ToolFilter,
        description: 'Which tools to list. Omitted fields do not filter; all given fields must match.',
      }),
    },
    complexity: pageComplexity,
    resolve: async (_root, { filter, ...page }, { db, viewer }) => ({
      ...(await listToolsPage(db, viewer, filter ?? {}, page)),
      countAll: () => countTools(db, viewer, filter ?? {}),
    }),
  }),
}))
