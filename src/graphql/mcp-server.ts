import { addMcpServer } from '../commands/add-mcp-server.ts'
import { refreshMcpServer } from '../commands/refresh-mcp-server.ts'
import { removeMcpServer } from '../commands/remove-mcp-server.ts'
import { countMcpServers, listMcpServersPage } from '../store/mcp-servers.ts'
import { builder } from './builder.ts'
import { connectionType, pageArguments, pageComplexity } from './connection.ts'
import { encodeId, Node, registerNode, requireUuid } from './node.ts'
import { deletedPayloadType, payloadType } from './payload.ts'
import { McpServer } from './run-refs.ts'
import { Tool } from './tool.ts'

McpServer.implement({
  description: 'A Model Context Protocol server whose tools agents may use.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      description: 'Globally unique and permanent.',
      resolve: (server) => encodeId('McpServer', server.id),
    }),
    name: t.exposeString('name', { description: 'Display name. Unique in the tenant.' }),
    url: t.exposeString('url', { description: 'Address of the server.' }),
    tools: t.field({
      type: [Tool],
      description: 'Tools, as last listed by the server.',
      resolve: async (server, _args, { loaders }) => [...(await loaders.toolsOfMcpServer.load(server.id))],
    }),
    requiresApproval: t.exposeBoolean('requiresApproval', {
      description:
        'Whether tools of the server require approval when they are first listed. `updateTool` changes single tools.',
    }),
    lastError: t.exposeString('lastError', {
      nullable: true,
      description: 'Why the last connection failed. Null if it succeeded.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the server was added.' }),
  }),
})

registerNode('McpServer', { load: (context, id) => context.loaders.mcpServers.load(id.uuid) })

builder.objectField(Tool, 'mcpServer', (t) =>
  t.field({
    type: McpServer,
    nullable: true,
    description: 'MCP: server that provides the tool. Null for other kinds.',
    resolve: (tool, _args, { loaders }) => (tool.kind === 'MCP' ? loaders.mcpServers.load(tool.mcpServerId) : null),
  }),
)

builder.queryField('mcpServers', (t) =>
  t.field({
    type: connectionType('McpServer', McpServer),
    description: 'Model Context Protocol servers of the tenant.',
    args: pageArguments,
    complexity: pageComplexity,
    resolve: async (_root, page, { db, viewer }) => ({
      ...(await listMcpServersPage(db, viewer, page)),
      countAll: () => countMcpServers(db, viewer),
    }),
  }),
)

const AddMcpServerInput = builder.inputType('AddMcpServerInput', {
  description: 'A Model Context Protocol server to add.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Display name, 1 to 64 characters, unique in the tenant.' }),
    url: t.string({
      required: true,
      description: 'Address of the server, starting with http:// or https://. At most 2,000 characters.',
    }),
    headers: t.field({
      type: 'JSON',
      description:
        'Headers to send with every request: an object of strings, at most 50. Their values cannot be read again.',
    }),
    requiresApproval: t.boolean({
      description: 'Whether tools of the server require approval when they are first listed. Defaults to false.',
    }),
  }),
})

const RefreshMcpServerInput = builder.inputType('RefreshMcpServerInput', {
  description: 'The server to refresh.',
  fields: (t) => ({ id: t.id({ required: true, description: 'Id of the server.' }) }),
})

const RemoveMcpServerInput = builder.inputType('RemoveMcpServerInput', {
  description: 'The server to remove.',
  fields: (t) => ({ id: t.id({ required: true, description: 'Id of the server.' }) }),
})

const AddMcpServerPayload = payloadType('AddMcpServerPayload', 'server', McpServer, 'The added server.')
const RefreshMcpServerPayload = payloadType('RefreshMcpServerPayload', 'server', McpServer, 'The refreshed server.')
const RemoveMcpServerPayload = deletedPayloadType('RemoveMcpServerPayload', 'Id of the removed server.')

builder.mutationFields((t) => ({
  addMcpServer: t.field({
    type: AddMcpServerPayload,
    nullable: true,
    description: 'Connects to a Model Context Protocol server and stores its tools as tools of kind MCP.',
    args: { input: t.arg({ type: AddMcpServerInput, required: true, description: 'The server to add.' }) },
    resolve: (_root, { input }, context) => addMcpServer(context, context.viewer, input),
  }),
  refreshMcpServer: t.field({
    type: RefreshMcpServerPayload,
    nullable: true,
    description: 'Lists the tools of a server again and stores the changes.',
    args: { input: t.arg({ type: RefreshMcpServerInput, required: true, description: 'The server to refresh.' }) },
    resolve: (_root, { input }, context) =>
      refreshMcpServer(context, context.viewer, { id: requireUuid('McpServer', input.id) }),
  }),
  removeMcpServer: t.field({
    type: RemoveMcpServerPayload,
    nullable: true,
    description: 'Removes a server and its tools.',
    args: { input: t.arg({ type: RemoveMcpServerInput, required: true, description: 'The server to remove.' }) },
    async resolve(_root, { input }, context) {
      await removeMcpServer(context, context.viewer, { id: requireUuid('McpServer', input.id) })
      return input.id
    },
  }),
}))
