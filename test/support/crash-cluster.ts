import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

import { expect, inject } from 'vitest'

import type { OpenDatabase } from '../../src/store/database/open-database.ts'
import { talkTo } from './talk.ts'
import { createTestDatabase } from './database.ts'
import { createGraphQLClient, type GraphQLClient } from './graphql-client.ts'
import { keepOutput } from './kept-output.ts'
import type { KillPoint } from './kill-points.ts'

interface Server {
  /** Its name as a worker. */
  readonly workerId: string
  readonly child: ChildProcess
  /** The lines that it prints. */
  readonly lines: Interface
  readonly client: GraphQLClient
  readonly ended: Promise<unknown>
}

interface CrashOptions {
  /** See `WorkerOptions`. Defaults to the server's own. */
  readonly suspectAfterMs?: number
}

/** The key of the servers, which must not be in what they write. */
const apiKey = 'hp_key_of_the_crash_cluster'
const authorization = `Bearer ${apiKey}`

/** Servers on one database, each of which is started again when it was killed. */
export class CrashCluster {
  readonly database: OpenDatabase
  readonly #options: CrashOptions
  readonly #env: Readonly<Record<string, string>>
  readonly #servers: (Server | undefined)[] = []

  private constructor(database: OpenDatabase, options: CrashOptions, env: Readonly<Record<string, string>>) {
    this.database = database
    this.#options = options
    this.#env = env
  }

  static async start(
    size: number,
    options: CrashOptions = {},
    env: Readonly<Record<string, string>> = {},
  ): Promise<CrashCluster> {
    const database = await createTestDatabase()
    await database.pool.query('create table effects (key text not null)')
    const cluster = new CrashCluster(database, options, env)
    await Promise.all(Array.from({ length: size }, (_, name) => cluster.startServer(name)))
    return cluster
  }

  workerId(name: number): string {
    return this.#servers[name]!.workerId
  }

  /** Resolves when the server is gone, whatever the reason. */
  async death(name: number): Promise<void> {
    await this.#servers[name]?.ended
  }

  async startServer(name: number): Promise<void> {
    const child = spawn(process.execPath, [inject('programs').crashServer, JSON.stringify(this.#options)], {
      env: {
        PATH: process.env['PATH'],
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        NODE_ENV: 'production',
        DATABASE_URL: this.database.url,
        HOLDPOINT_API_KEY: apiKey,
        ...this.#env,
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    child.stderr.on('data', (data: Buffer) => {
      keepOutput(data)
      // Anything but a line of the log is an error that the server did not expect.
      if (!data.toString().startsWith('{')) process.stderr.write(data)
    })
    const ended = once(child, 'exit').then(() => {
      if (this.#servers[name]?.child === child) this.#servers[name] = undefined
    })
    child.stdin.on('error', () => {})
    const lines = createInterface(child.stdout)
    const [line] = (await Promise.race([once(lines, 'line'), ended.then(() => [])])) as [string?]
    if (line === undefined) throw new Error('a server ended before it was ready')
    const { url, workerId } = JSON.parse(line) as { readonly url: string; readonly workerId: string }
    this.#servers[name] = {
      child,
      lines,
      client: createGraphQLClient(url, { authorization }),
      workerId,
      ended,
    }
  }

  /** A client of a server that is alive. Waits until there is one. */
  async client(choice: number): Promise<GraphQLClient> {
    for (;;) {
      const alive = this.#servers.filter((server) => server !== undefined)
      if (alive.length > 0) return alive[choice % alive.length]!.client
      await sleep(20)
    }
  }

  /** Asks one server after another until one lives long enough to answer. Returns the data. */
  async ask(choice: number, document: string, variables: object = {}): Promise<any> {
    for (let attempt = 0; ; attempt += 1) {
      const server = await this.client(choice + attempt)
      const answer = await server.request(document, variables).catch((error: unknown) => {
        // The connection broke, so the outcome is unknown.
        if (error instanceof TypeError) return undefined
        throw error
      })
      if (answer && !answer.errors) return answer.data
      const code = answer?.errors?.[0]?.extensions.code
      if (code !== undefined && code !== 'UNAVAILABLE') throw new Error(JSON.stringify(answer!.errors))
      await sleep(20)
    }
  }

  /** Waits until all runs have ended, also those in the background. */
  async atRest(): Promise<void> {
    const waiting = async () => (await this.database.pool.query('select from runs where not ended')).rowCount
    await expect.poll(waiting, { timeout: 60_000 }).toBe(0)
  }

  /** Downloads from a server that is alive. */
  async download(path: string): Promise<Response> {
    return fetch(new URL(path, (await this.client(1)).url), { headers: { authorization } })
  }

  /** An agent with all tools of the servers. */
  async createAgent(): Promise<string> {
    return talkTo(await this.client(0)).createAgent({
      model: 'crash/scripted',
      tools: ['once', 'repeatable', 'picture', 'deadly'],
    })
  }

  /** Kills it at once, or when it next reaches the point. Resolves with the time of its death. */
  async kill(name: number, point: KillPoint | undefined): Promise<number> {
    const { child, ended } = this.#servers[name]!
    if (point === undefined) child.kill('SIGKILL')
    else await this.arm(name, point)
    await ended
    return performance.now()
  }

  /** As `kill`, but at once if it has not reached the point within two seconds. */
  async killSoon(name: number, point: KillPoint | undefined): Promise<void> {
    const { child, ended } = this.#servers[name]!
    const timer = setTimeout(() => child.kill('SIGKILL'), 2_000)
    await this.kill(name, point)
    clearTimeout(timer)
    await ended
  }

  /** After this resolves, it dies when it next reaches the point. */
  async arm(name: number, point: KillPoint): Promise<void> {
    await this.#command(name, { die: point })
  }

  /**
   * After this resolves, what next reaches the point stays there until the server is killed. The function that it
   * returns waits for that. So one death can interrupt several things.
   */
  async hold(name: number, point: KillPoint): Promise<() => Promise<void>> {
    const { lines, ended } = this.#servers[name]!
    await this.#command(name, { hold: point })
    const held = once(lines, 'line').then(() => true)
    return async () => {
      if (!(await Promise.race([held, ended]))) throw new Error('the server ended before anything reached the point')
    }
  }

  /**
   * Starts runs, one after another, until the server holds one at the point: a run may be claimed by another server.
   * Resolves with all of them; the last one is held.
   */
  async holdRun(name: number, point: KillPoint, text: string): Promise<string[]> {
    const held = (await this.hold(name, point))().then(() => true)
    const { client } = this.#servers[name]!
    const other = this.#servers.find((server, index) => server !== undefined && index !== name)!
    const runs: string[] = []
    for (;;) {
      const run = await talkTo(client).start(await this.createAgent(), text)
      runs.push(run)
      const settled = talkTo(other.client).settled(run)
      // The held one settles after the death of its server, and nobody waits for that here.
      settled.catch(() => {})
      if (await Promise.race([held, settled.then(() => false)])) return runs
    }
  }

  async #command(name: number, command: { readonly die?: KillPoint; readonly hold?: KillPoint }): Promise<void> {
    const { child, lines, ended } = this.#servers[name]!
    const done = once(lines, 'line')
    child.stdin!.write(`${JSON.stringify(command)}\n`)
    await Promise.race([done, ended])
  }

  /** Asks it to shut down. */
  async drain(name: number): Promise<void> {
    const { child, ended } = this.#servers[name]!
    this.#servers[name] = undefined
    child.kill('SIGTERM')
    await ended
  }

  signal(name: number, signal: NodeJS.Signals): void {
    this.#servers[name]!.child.kill(signal)
  }

  async stop(): Promise<void> {
    for (const server of this.#servers) {
      server?.child.kill('SIGKILL')
      await server?.ended
    }
    await this.database.close()
  }
}
