import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

import { createServer } from 'vite'

/**
 * Starts the server, which restarts when its source changes, and the console, which the browser updates without a
 * reload. The console forwards everything else to the server, so both have one origin for the browser.
 */
const port = process.env['PORT'] ?? '4000'
const source = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const folder = fileURLToPath(new URL('../console/', import.meta.url))

const server = spawn(process.execPath, ['--watch', '--watch-preserve-output', source, ...process.argv.slice(2)], {
  stdio: 'inherit',
  // A restart does not wait for answers that are being written.
  env: { HOLDPOINT_DRAIN_MS: '1000', ...process.env },
})

const target = { target: `http://127.0.0.1:${port}` }
const pages = await createServer({
  root: folder,
  configFile: `${folder}vite.config.ts`,
  server: { proxy: { '/graphql': { ...target, ws: true }, '/files': target, '/docs': target } },
})
await pages.listen()
pages.printUrls()

server.on('exit', (code) => {
  void pages.close().finally(() => process.exit(code ?? 0))
})
// The terminal sends its signal to both. The server drains, and when it ends, this ends too.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => server.kill(signal))
