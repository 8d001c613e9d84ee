import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

import { gql, InMemoryCache } from '@apollo/client/core'
import { Client, fetchExchange } from '@urql/core'
import { cacheExchange } from '@urql/exchange-graphcache'
import fc from 'fast-check'
import { parse, print, validate } from 'graphql'
import { createOperationDescriptor, Environment, Network, type ConcreteRequest } from 'relay-runtime'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import * as actors from '../../examples/actors.ts'
import { createTranscript, type RunEvent } from '../../examples/shared.ts'
import { schema } from '../../src/graphql/schema.ts'
import { interleavedRuns } from '../client/run-script.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { longer } from '../support/long.ts'

describe('the example programs', () => {
  let server: TestApp

  beforeAll(async () => {
    server = await startTestApp()
  })
  afterAll(async () => server.stop())

  it.concurrent.each(['graphql-ws', 'apollo-client', 'urql', 'urql-graphcache', 'relay', 'graphql-sse'])(
    '[EXA1] %s follows a run through a dropped connection, and approves a call',
    async (name) => {
      const { code, stdout, stderr } = await runExample(name, server.url)
      expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' })

      const [, dropped, back] = /\[dropped at (\d+)\]\[back with TextDelta at (\d+)\]/.exec(stdout) ?? []
      expect(Number(dropped), stdout).toBeGreaterThanOrEqual(100)
      expect(back, 'it goes on exactly where it was').toBe(dropped)
      expect(stdout.replace(/\[dropped.*?\]\[back.*?\]/, '')).toContain(
        'costs nothing but the time that it takes. 🚋 Each piece of text says where it belongs, and fits only there.\n',
      )

      const lines = stdout.split('\n').map((line) => line.trim())
      const story = [
        'run: AWAITING_APPROVAL REQUIRES_APPROVAL',
        'send_mail SUCCEEDED: sent to grace@example.com: The report is ready.',
        'run: COMPLETED END_TURN',
      ]
      expect(lines).toEqual(expect.arrayContaining(story))
      expect(lines).toContain('send_mail PENDING: {"to":"grace@example.com","text":"The report is ready."}')
      expect(lines.filter((line) => line === 'approving send_mail')).toHaveLength(1)
      expect(lines.filter((line) => /^\d+ characters, as stored$/.test(line))).toHaveLength(2)
    },
  )

  it("[EXA61] Relay's artifacts are those of the documents, and fit the schema", async () => {
    const source = await readFile(new URL('../../examples/relay.ts', import.meta.url), 'utf8')
    const documents = [...source.matchAll(/graphql`([^`]*)`/g)].map(([, document]) => document!)
    expect(documents).toHaveLength(6)
    for (const document of documents) {
      const name = /(?:query|mutation|subscription) (\w+)/.exec(document)![1]!
      const artifact = (await import(`../../examples/__generated__/${name}.graphql.ts`)) as { default: ConcreteRequest }
      // Relay's plugins for bundlers compare the same hash, and warn.
      const hash = createHash('md5')
        .update(print(parse(document).definitions[0]!))
        .digest('hex')
      expect(artifact.default, name).toHaveProperty('hash', hash)
      expect(validate(schema, parse(artifact.default.params.text!)), name).toEqual([])
    }
  })
})

describe("the examples' transcript", () => {
  const delta = (messageId: string, offset: number, text: string, runId = 'run'): RunEvent => {
    const cursor = `${messageId}.${offset}`
    return { __typename: 'TextDelta', kind: 'ASSISTANT', cursor, runId, messageId, offset, text }
  }
  const added = (seq: number, id: string, text: string, runId = 'run'): RunEvent => {
    const message = { __typename: 'AssistantMessage', id, text }
    return { __typename: 'MessageAdded', cursor: `${seq}`, runId, seq, message }
  }
  const entry = (seq: number, __typename: 'StepRestarted' | 'StepFinished'): RunEvent => {
    return { __typename, cursor: `${seq}`, runId: 'run', seq }
  }
  const status = (seq: number, to: string, runId = 'run'): RunEvent => {
    return { __typename: 'RunStatusChanged', cursor: `${seq}`, runId, seq, status: to, stopReason: null }
  }

  it('[EXA2] is the same after the stream was sent again from the beginning', () => {
    const transcript = createTranscript()
    const events = [delta('a', 0, 'one '), added(1, 'a', 'one '), delta('b', 0, 'two '), delta('b', 4, 'three ')]
    for (const event of events) expect(transcript.apply(event)).toBe(true)
    for (const event of events) {
      expect(transcript.apply(event)).toBe(false)
      expect(transcript.text()).toBe('one \ntwo three ')
    }
    transcript.apply(delta('b', 0, 'two three four'))
    expect(transcript.text()).toBe('one \ntwo three four')
  })

  it('[EXA3] drops what was streamed and never stored, also when its deltas come again', () => {
    const transcript = createTranscript()
    transcript.apply(delta('a', 0, 'kept'))
    transcript.apply(added(1, 'a', 'kept'))
    transcript.apply(delta('b', 0, 'void, and longer than what follows'))
    transcript.apply(entry(2, 'StepRestarted'))
    expect(transcript.text()).toBe('kept')
    expect(transcript.apply(delta('b', 0, 'void, and longer than what follows'))).toBe(false)
    // A repeated step uses new message ids.
    transcript.apply(delta('c', 0, 'again'))
    expect(transcript.text()).toBe('kept\nagain')
    transcript.apply(entry(3, 'StepFinished'))
    expect(transcript.text()).toBe('kept')
  })

  it('[EXA4] keeps the answer of a second run, and drops the text of one that failed', () => {
    const transcript = createTranscript()
    for (const event of [delta('a', 0, 'first', 'one'), added(5, 'a', 'first', 'one'), status(7, 'COMPLETED', 'one')]) {
      transcript.apply(event)
    }
    transcript.apply(added(2, 'b', 'second', 'two'))
    expect(transcript.text()).toBe('first\nsecond')
    transcript.apply(delta('c', 0, 'half an answer', 'three'))
    transcript.apply(status(4, 'FAILED', 'three'))
    expect(transcript.text()).toBe('first\nsecond')
  })

  it('[EXA4] any mix of runs ends with the stored answers, whatever is repeated on the way', () => {
    fc.assert(
      fc.property(interleavedRuns, fc.array(fc.nat(19), { size: 'medium' }), (events, rewinds) => {
        const transcript = createTranscript()
        for (const [index, event] of events.entries()) {
          transcript.apply(event as RunEvent)
          // A library resubscribed with an old cursor, so everything after it is repeated.
          const from = Math.max(0, index - (rewinds[index] ?? 0))
          for (const again of events.slice(from, index + 1)) transcript.apply(again as RunEvent)
        }
        const answers = events.flatMap((event) =>
          event.__typename === 'MessageAdded' && event.message.__typename === 'AssistantMessage'
            ? [event.message.text]
            : [],
        )
        expect(transcript.text().split('\n').toSorted()).toEqual(answers.join('\n').split('\n').toSorted())
      }),
      { numRuns: longer(300, 2_000) },
    )
  })
})

describe('actors with the same id', () => {
  const query = 'query { viewer { actor { kind id name __typename } __typename } other { kind id name __typename } }'
  const person = { __typename: 'Actor', kind: 'PERSON', id: 'ada', name: 'Ada' }
  const key = { __typename: 'Actor', kind: 'KEY', id: 'ada', name: 'a key' }
  const data = { viewer: { __typename: 'Viewer', actor: person }, other: key }

  it('[EXA64] stay apart in the cache of Apollo Client', () => {
    const cache = new InMemoryCache({ typePolicies: actors.typePolicies })
    cache.writeQuery({ query: gql(query), data })
    expect(cache.readQuery({ query: gql(query) })).toEqual(data)
  })

  it('[EXA64] stay apart in Graphcache', async () => {
    const exchanges = [cacheExchange({ keys: { ...actors.keys, Viewer: () => null } }), fetchExchange]
    const fetch = async () => Response.json({ data })
    const client = new Client({ url: 'http://unused.invalid/', preferGetMethod: false, exchanges, fetch })
    expect((await client.query(query, {})).data).toEqual(data)
  })

  it('[EXA64] stay apart in the store of Relay', () => {
    const scalar = (name: string) => ({ kind: 'ScalarField', name, storageKey: null, args: null, alias: null })
    const linked = (name: string, concreteType: string, selections: object[]) => ({
      ...scalar(name),
      kind: 'LinkedField',
      plural: false,
      concreteType,
      selections,
    })
    const fields = ['__typename', 'kind', 'id', 'name'].map(scalar)
    const actor = linked('actor', 'Actor', fields)
    const selections = [linked('viewer', 'Viewer', [scalar('__typename'), actor]), linked('other', 'Actor', fields)]
    const request = {
      kind: 'Request',
      fragment: { kind: 'Fragment', name: 'q', type: 'Query', argumentDefinitions: [], metadata: null, selections },
      operation: { kind: 'Operation', name: 'q', argumentDefinitions: [], selections },
      params: { name: 'q', operationKind: 'query', cacheID: 'q', id: null, text: query, metadata: {} },
    }
    const network = Network.create(() => ({ data }))
    const environment = new Environment({ network, getDataID: actors.getDataID as never })
    const operation = createOperationDescriptor(request as never, {})
    environment.commitPayload(operation, data)
    expect(environment.lookup(operation.fragment).data).toEqual(data)
  })
})

async function runExample(name: string, url: string) {
  const file = fileURLToPath(new URL(`../../examples/${name}.ts`, import.meta.url))
  const child = spawn(process.execPath, [file, url], { stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (data) => (stdout += data))
  child.stderr.setEncoding('utf8').on('data', (data) => (stderr += data))
  const [code] = await once(child, 'close')
  return { code, stdout, stderr }
}
