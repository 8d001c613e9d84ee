import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'

/** An MCP server on standard input and output, which counts its calls. */
let calls = 0
const server = new McpServer({ name: 'local', version: '1' })
server.registerTool('look', {}, () => {
  calls += 1
  const { GREETING, PASSED, HIDDEN } = process.env
  const text = JSON.stringify({ calls, arguments: process.argv.slice(2), GREETING, PASSED, HIDDEN })
  return { content: [{ type: 'text', text }] }
})
server.registerTool('die', {}, () => process.exit(1))
await server.connect(new StdioServerTransport())
