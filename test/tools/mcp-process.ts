import { startMcpServer } from './mcp-server.ts'

/** An MCP server in a process of its own, which a test can kill. Prints its address, and when its tool is running. */
const { url } = await startMcpServer((mcp) => {
  mcp.registerTool('hang', {}, () => {
    process.stdout.write('running\n')
    return new Promise(() => {})
  })
})
process.stdout.write(`${url}\n`)
