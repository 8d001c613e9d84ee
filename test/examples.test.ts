import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { createTranscript, type RunEvent } from '../examples/shared.ts'
import { startTestApp, type TestApp } from './support/app.ts'

describe('the example programs', () => {
  let server: TestApp

  beforeAll(async () => {
    server = await startTestApp()
  })
  afterAll(async () => server.stop())

  it.concurrent.each(['graphql-ws', 'apollo-client', 'urql', 'graphql-sse'])(
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
})

describe('the transcript of the examples', () => {
  const delta = (messageId: string, offset: number, text: string): RunEvent => {
    return { __typename: 'TextDelta', kind: 'ASSISTANT', cursor: `${messageId}.${offset}`, messageId, offset, text }
  }
  const added = (seq: number, id: string, text: string): RunEvent => {
    return { __typename: 'MessageAdded', cursor: `${seq}`, seq, message: { __typename: 'AssistantMessage', id, text } }
  }
  const entry = (seq: number, __typename: 'StepRestarted' | 'StepFinished'): RunEvent => {
    return { __typename, cursor: `${seq}`, seq }
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

  it('[EXA3] loses what was streamed and never stored', () => {
    const transcript = createTranscript()
    transcript.apply(delta('a', 0, 'kept'))
    transcript.apply(added(1, 'a', 'kept'))
    transcript.apply(delta('b', 0, 'void, and longer than what follows'))
    transcript.apply(entry(2, 'StepRestarted'))
    expect(transcript.text()).toBe('kept')
    transcript.apply(delta('b', 0, 'again'))
    expect(transcript.text()).toBe('kept\nagain')
    transcript.apply(entry(3, 'StepFinished'))
    expect(transcript.text()).toBe('kept')
  })
})

async function runExample(name: string, url: string) {
  const file = fileURLToPath(new URL(`../examples/${name}.ts`, import.meta.url))
  const child = spawn(process.execPath, [file, url], { stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (data) => (stdout += data))
  child.stderr.setEncoding('utf8').on('data', (data) => (stderr += data))
  const [code] = await once(child, 'close')
  return { code, stdout, stderr }
}
