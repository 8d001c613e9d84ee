import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { connect, createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import { onTestFinished } from 'vitest'

import { makeTemporaryFolder } from './temporary-folder.ts'

const program = '/usr/sbin/nginx'

/** The tests with a real nginx run if it is installed, for example with `apt-get install nginx-light`. */
export const haveNginx = existsSync(program)

/**
 * Starts an nginx with the configuration that docs/browser.md shows, in front of this port, until the test has finished.
 * Resolves with its origin.
 */
export async function startNginx(target: string): Promise<string> {
  const folder = await makeTemporaryFolder()
  const port = await freePort()
  const page = await readFile(new URL('../../docs/browser.md', import.meta.url), 'utf8')
  const location = /```nginx\n([\s\S]*?)```/.exec(page)![1]!.replace('127.0.0.1:4000', target)
  const map = /`(map \$http_upgrade [^`]*)`/.exec(page)![1]!
  const settings = join(folder, 'nginx.conf')
  await writeFile(
    settings,
    `daemon off; pid ${folder}/pid; error_log stderr error; worker_processes 1;
${process.getuid?.() === 0 ? 'user root;' : ''}
events {}
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  ${map}
  server { listen 127.0.0.1:${port}; ${location} }
}`,
  )
  const child = spawn(program, ['-c', settings, '-p', folder], { stdio: ['ignore', 'ignore', 'pipe'] })
  onTestFinished(() => void child.kill('SIGTERM'))
  let written = ''
  child.stderr.on('data', (data) => (written += data))
  while (!(await isOpen(port))) {
    if (child.exitCode !== null) throw new Error(`nginx ended: ${written}`)
    await delay(20)
  }
  return `http://127.0.0.1:${port}`
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => (socket.destroy(), resolve(true)))
    socket.once('error', () => resolve(false))
  })
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
