import { encodeId } from '../domain/ids.ts'
import type { Tool as ToolShape } from '../domain/tool.ts'
import { countTools, listToolsPage } from '../store/tools.ts'
import { builder } from './builder.ts'
import { connectionType, pageArguments, pageComplexity } from './connection.ts'
import { Node, registerNode, uuidOf } from './node.ts'

const ToolKind = builder.enumType('ToolKind', {
  description: 'Where a tool comes from and who runs it.',
  values: {
    BUILTIN: { description: 'Ships with the server or is registered in code.' },
    JAVASCRIPT: {
      description: 'JavaScript source, run in a sandbox with no network, files or clock beyond its limits.',
    },
    HTTP: { description: 'The server posts the arguments to a URL.' },
    MCP: { description: 'A tool of a Model Context Protocol server.' },
    CLIENT: { description: 'Runs wherever the client is: the run pauses until the client sends the result.' },
  } as const,
})

/** Its MCP server is told by the module of that noun. */
export const Tool = builder.objectRef<ToolShape>('Tool')
Tool.implement({
  description: 'Something that agents can do. It exists once per tenant, and any number of agents may have it.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({ description: 'tool_…', resolve: (tool) => encodeId('Tool', tool.id) }),
    name: t.exposeString('name', { description: 'What models call it by. Unique.' }),
    description: t.exposeString('description', { description: 'What models are told about it.' }),
    kind: t.expose('kind', { type: ToolKind, description: 'Where it comes from and who runs it.' }),
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
      description: 'A call that nobody has decided after this long is denied. Null: it waits forever.',
    }),
    parallel: t.exposeBoolean('parallel', { description: 'May run at the same time as other calls of one step.' }),
    idempotent: t.exposeBoolean('idempotent', {
      description: 'Safe to run again when a crash left its outcome unknown.',
    }),
    returnCharLimit: t.exposeInt('returnCharLimit', { description: 'Results longer than this are truncated.' }),
    timeoutMs: t.exposeInt('timeoutMs', { description: 'A call that takes longer is stopped and returns an error.' }),
    tags: t.stringList({ description: 'Words to find it by.', resolve: (tool) => [...tool.tags] }),
    source: t.exposeString('source', { nullable: true, description: 'JAVASCRIPT: its source.' }),
    url: t.exposeString('url', { nullable: true, description: 'HTTP: where it is posted to.' }),
    headerNames: t.stringList({
      nullable: true,
      description: 'HTTP: the names of its headers. Their values can be set and never read.',
      resolve: (tool) => tool.headers && Object.keys(tool.headers),
    }),
    isAvailable: t.exposeBoolean('isAvailable', {
      description:
        'False for a BUILTIN tool that is gone from the code of the server. Models are not offered it, and it can be deleted.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it last changed.' }),
  }),
})

registerNode('Tool', { load: (context, { uuid }) => context.loaders.tools.load(uuid) })

const ToolConnection = connectionType('Tool', Tool)

const ToolFilter = builder.inputType('ToolFilter', {
  description: 'Which tools. What is left out is not asked for; all that is given must fit.',
  fields: (t) => ({
    nameContains: t.string({ description: 'A part of the name, in upper or lower case.' }),
    kinds: t.field({ type: [ToolKind], description: 'Any of these kinds.' }),
  }),
})

builder.queryFields((t) => ({
  tool: t.field({
    type: Tool,
    nullable: true,
    description: 'The tool with this id. Null where there is none.',
    args: { id: t.arg.id({ required: true, description: 'tool_…' }) },
    resolve(_root, { id }, context) {
      const uuid = uuidOf('Tool', id)
      return uuid === undefined ? null : context.loaders.tools.load(uuid)
    },
  }),
  tools: t.field({
    type: ToolConnection,
    description: 'All tools, oldest first.',
    args: { ...pageArguments, filter: t.arg({ type: ToolFilter, description: 'Only some of them.' }) },
    complexity: pageComplexity,
    resolve: async (_root, { filter, ...page }, { db, viewer }) => ({
      ...(await listToolsPage(db, viewer.tenantId, filter ?? {}, page)),
      countAll: () => countTools(db, viewer.tenantId, filter ?? {}),
    }),
  }),
}))
