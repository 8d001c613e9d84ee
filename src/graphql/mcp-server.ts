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
      description: 'Globally unique, and the same for ever.',
      resolve: (server) => encodeId('McpServer', server.id),
    }),
    name: t.exposeString('name', { description: 'Its name, which no other server of the tenant has.' }),
    url: t.exposeString('url', { description: 'Where it is reached.' }),
    tools: t.field({
      type: [Tool],
      description: 'Its tools, as they were last listed.',
      resolve: async (server, _args, { loaders }) => [...(await loaders.toolsOfMcpServer.load(server.id))],
    }),
    lastError: t.exposeString('lastError', {
      nullable: true,
      description: 'Why it could not be reached the last time. Null where it could.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was added.' }),
  }),
})

registerNode('McpServer', { load: (context, id) => context.loaders.mcpServers.load(id.uuid) })

builder.objectField(Tool, 'mcpServer', (t) =>
  t.field({
    type: McpServer,
    nullable: true,
    description: 'MCP: the server it belongs to.',
    resolve: (tool, _args, { loaders }) =>
      tool.mcpServerId === null ? null : loaders.mcpServers.load(tool.mcpServerId),
  }),
)

builder.queryField('mcpServers', (t) =>
  t.field({
    type: connectionType('McpServer', McpServer),
    description: 'All Model Context Protocol servers, oldest first.',
    args: pageArguments,
    complexity: pageComplexity,
    resolve: async (_root, page, { db, viewer }) => ({
      ...(await listMcpServersPage(db, viewer.tenantId, page)),
      countAll: () => countMcpServers(db, viewer.tenantId),
    }),
  }),
)

const AddMcpServerInput = builder.inputType('AddMcpServerInput', {
  description: 'A server to add.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name, which no other server of the tenant has.' }),
    url: t.string({ required: true, description: 'Where it is reached.' }),
    headers: t.field({ type: 'JSON', description: 'Headers to send with every request: an object of strings.' }),
  }),
})

const RefreshMcpServerInput = builder.inputType('RefreshMcpServerInput', {
  description: 'Which server to ask again.',
  fields: (t) => ({ id: t.id({ required: true, description: 'The server.' }) }),
})

const RemoveMcpServerInput = builder.inputType('RemoveMcpServerInput', {
  description: 'Which server to remove.',
  fields: (t) => ({ id: t.id({ required: true, description: 'The server.' }) }),
})

const AddMcpServerPayload = payloadType('AddMcpServerPayload', 'server', McpServer, 'The added server.')
const RefreshMcpServerPayload = payloadType('RefreshMcpServerPayload', 'server', McpServer, 'The refreshed server.')
const RemoveMcpServerPayload = deletedPayloadType('RemoveMcpServerPayload', 'Id of the removed server.')

builder.mutationFields((t) => ({
  addMcpServer: t.field({
    type: AddMcpServerPayload,
    nullable: true,
    description:
      "Connects to the server, lists its tools and keeps them as tools of kind MCP. One whose name another tool has gets the server's name before it.",
    args: { input: t.arg({ type: AddMcpServerInput, required: true, description: 'The server.' }) },
    resolve: (_root, { input }, context) => addMcpServer(context, context.viewer, input),
  }),
  refreshMcpServer: t.field({
    type: RefreshMcpServerPayload,
    nullable: true,
    description: 'Lists its tools again and keeps what it finds.',
    args: { input: t.arg({ type: RefreshMcpServerInput, required: true, description: 'Which server.' }) },
    resolve: (_root, { input }, context) =>
      refreshMcpServer(context, context.viewer, { id: requireUuid('McpServer', input.id) }),
  }),
  removeMcpServer: t.field({
    type: RemoveMcpServerPayload,
    nullable: true,
    description: 'Removes the server and its tools.',
    args: { input: t.arg({ type: RemoveMcpServerInput, required: true, description: 'Which server.' }) },
    async resolve(_root, { input }, context) {
      await removeMcpServer(context, context.viewer, { id: requireUuid('McpServer', input.id) })
      return input.id
    },
  }),
}))
