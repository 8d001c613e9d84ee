import { addMcpServer, removeMcpServer, refreshMcpServer } from '../../commands/tools/mcp-server.ts'
import type { McpServer as McpServerShape } from '../../domain/tools/mcp-server.ts'
import { listMcpServersPage } from '../../store/tools/mcp-servers.ts'
import { builder } from '../builder.ts'
import { connectionType, pageOf } from '../connection.ts'
import { boolean, implement, json, of, string, time } from '../fields.ts'
import { loaded } from '../load-existing.ts'
import { deletion, idInput, mutation, payload } from '../mutation.ts'
import { Node, requireUuid } from '../node.ts'
import { Tool } from './tool.ts'

const McpServer = builder.objectRef<McpServerShape>('McpServer')
implement(McpServer, {
  description: 'A Model Context Protocol server whose tools agents may use.',
  interfaces: [Node],
  fields: () => ({
    name: string('Display name. Unique in the tenant.'),
    url: string('Address of the server.'),
    tools: loaded('toolsOfMcpServer', of([Tool])('Tools, as last listed by the server.')),
    requiresApproval: boolean(
      'Whether tools of the server require approval when they are first listed. `updateTool` changes single tools.',
    ),
    lastError: string.orNull('Why the last connection failed. Null if it succeeded.'),
    createdAt: time('When the server was added.'),
  }),
})

builder.objectField(Tool, 'mcpServer', (t) =>
  t.field({
    ...of(McpServer).orNull('MCP: server that provides the tool. Null for other kinds.'),
    resolve: (tool, _args, { loaders }) => (tool.kind === 'MCP' ? loaders.mcpServers.load(tool.mcpServerId) : null),
  }),
)

builder.queryField('mcpServers', (t) =>
  t.field({
    ...pageOf(connectionType('McpServer', McpServer), 'Model Context Protocol servers of the tenant.'),
    resolve: (_root, page, { db, viewer }) => listMcpServersPage(db, viewer, page),
  }),
)

mutation('addMcpServer', {
  description: 'Connects to a Model Context Protocol server and stores its tools as tools of kind MCP.',
  input: {
    description: 'A Model Context Protocol server to add.',
    fields: {
      name: string.required('Display name, 1 to 64 characters, unique in the tenant.'),
      url: string.required('Address of the server, starting with http:// or https://. At most 2,000 characters.'),
      headers: json(
        'Headers to send with every request: an object of strings, at most 50. Their values cannot be read again.',
      ),
      requiresApproval: boolean(
        'Whether tools of the server require approval when they are first listed. Defaults to false.',
      ),
    },
  },
  result: payload('server', McpServer, 'The added server.'),
  resolve: (input, context) => addMcpServer(context, context.viewer, input),
})

mutation('refreshMcpServer', {
  description: 'Lists the tools of a server again and stores the changes.',
  input: idInput('McpServer', 'The server to refresh.'),
  result: payload('server', McpServer, 'The refreshed server.'),
  resolve: ({ id }, context) => refreshMcpServer(context, context.viewer, { id: requireUuid('McpServer', id) }),
})

deletion('removeMcpServer', {
  description: 'Removes a server and its tools.',
  kind: 'McpServer',
  command: removeMcpServer,
})
