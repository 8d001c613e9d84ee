import { expect, onTestFinished, test } from 'vitest'

import { createClient } from '../../client/client.ts'
import { SendMessage } from '../../client/documents.ts'
import { followRun } from '../../client/follow-run.ts'
import { createApp } from '../../src/app.ts'
import { readConfig } from '../../src/config/config.ts'
import { createLog } from '../../src/util/log.ts'
import { createTestDatabase } from '../support/database.ts'
import { createGatedModel } from '../support/gated-model.ts'
import { createGraphQLClient } from '../support/graphql-client.ts'
import { keepOutput } from '../support/kept-output.ts'
import { talkTo } from '../support/talk.ts'
import { createWatch } from './ground.ts'

test('[PKG9] a program follows a run of its own app without a socket, from the start of the app to its stop', async () => {
  const database = await createTestDatabase()
  onTestFinished(() => database.close())
  const model = createGatedModel()
  const config = readConfig({ HOLDPOINT_DRAIN_MS: '0' })
  const options = { config, database, log: createLog('trace', { write: keepOutput }), providers: [model.provider] }
  const app = await createApp({ ...options, role: 'serve' })
  onTestFinished(() => app.stop())
  await expect(app.fetch('http://localhost/graphql')).rejects.toThrow('call start() or attach()')
  await app.attach()
  const listening = process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap')
  expect(listening).toEqual([])

  const agentId = await talkTo(createGraphQLClient('http://localhost/graphql', app)).createAgent()
  const client = createClient({ fetch: app.fetch })
  const { sendMessage } = await client.request(SendMessage, { input: { to: { agentId }, messages: [{ text: 'go' }] } })
  if (sendMessage?.__typename !== 'SendMessageSuccess') throw new Error(sendMessage?.message)
  const watch = createWatch()
  const ended = Promise.withResolvers<void>()
  const { transcript } = followRun(client, sendMessage.run.id, { onChange: watch.look, onEnd: () => ended.resolve() })
  const call = await model.nextCall()
  call.say('Half ')
  await watch.until(() => transcript.state.entries.some((entry) => entry.kind === 'live' && entry.text === 'Half '))
  call.say('whole.')
  call.finish()
  await ended.promise
  expect(transcript.state.entries.map((entry) => entry.kind === 'message' && entry.message.text)).toEqual([
    'go',
    'Half whole.',
  ])
  await app.stop()
  const refused = client.request(SendMessage, { input: { to: { agentId }, messages: [{ text: 'late' }] } })
  await expect(refused).rejects.toMatchObject({ code: 'UNAVAILABLE' })

  const worker = await createApp({ ...options, role: 'worker' })
  await expect(worker.fetch('http://localhost/graphql')).rejects.toThrow('no API')
  await worker.stop()
})
