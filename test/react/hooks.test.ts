import { createElement, type ReactNode } from 'react'
import { renderToString } from 'react-dom/server'
import { expect, test } from 'vitest'

import { createClient, type Client } from '../../client/client.ts'
import { HoldpointProvider } from '../../react/client-context.ts'
import { createConversationStore } from '../../react/conversation-store.ts'
import { createStore, shareStore } from '../../react/store.ts'
import { useConnection } from '../../react/use-connection.ts'
import { useConversation } from '../../react/use-conversation.ts'
import { useInbox } from '../../react/use-inbox.ts'
import { useRun } from '../../react/use-run.ts'
import { createWatch, openSocketClient } from '../client/ground.ts'
import { startTestApp } from '../support/app.ts'
import { createGatedModel, gatedHandle } from '../support/gated-model.ts'
import { talkTo } from '../support/talk.ts'

test('[HOK1] a server renders the hooks without opening a connection', () => {
  const used: string[] = []
  const client: Client = {
    ...createClient({ url: 'http://127.0.0.1:9/graphql' }),
    request: () => {
      used.push('request')
      return Promise.reject(new Error('no requests on a server'))
    },
    subscribe: () => {
      used.push('subscribe')
      return () => {}
    },
  }
  function Everything(): ReactNode {
    const { isLoaded, entries, liveText } = useConversation('conv_1')
    const { totalCount } = useInbox()
    const { events } = useRun('run_1')
    return [isLoaded, entries.length, liveText, totalCount, events.length, useConnection()].join(' ')
  }
  const html = renderToString(createElement(HoldpointProvider, { client }, createElement(Everything)))
  expect(html).toBe('false 0  0 0 CONNECTING')
  expect(used).toEqual([])
})

test('[HOK2] without a provider the hooks say what is missing', () => {
  const Lost = (): ReactNode => useInbox().totalCount
  expect(() => renderToString(createElement(Lost))).toThrow('HoldpointProvider')
})

test('[HOK3] a store starts once for all its listeners, even if StrictMode leaves and comes back', () => {
  let starts = 0
  let stops = 0
  const owner = {}
  const open = () =>
    shareStore(owner, 'one', (forget) =>
      createStore(
        () => {
          starts++
          return () => {
            stops++
            forget()
          }
        },
        () => starts,
      ),
    )
  const leave = open().subscribe(() => {})
  leave()
  const stay = open().subscribe(() => {})
  open().subscribe(() => {})
  expect([starts, stops]).toEqual([1, 0])
  expect(open()).toBe(open())
  stay()
  expect(stops).toBe(0)
})

test('[HOK60] a message that waits its turn is a draft, then part of the queue, then a message, and never twice', async () => {
  const model = createGatedModel()
  const server = await startTestApp({ providers: [model.provider] })
  const opened = openSocketClient(server.url)
  const { createAgent, start } = talkTo(server)
  const agentId = await createAgent({ model: gatedHandle })
  const { agent } = await server.data('query ($id: ID!) { agent(id: $id) { mainConversation { id } } }', {
    id: agentId,
  })
  const store = createConversationStore(opened.client, agent.mainConversation.id, () => {})
  const watch = createWatch()
  /** Every place where the second message is shown. */
  const places = (): string[] => {
    const { drafts, waiting, entries } = store.getState()
    return [
      ...drafts.filter(({ text }) => text === 'second').map(() => 'draft'),
      ...waiting.flatMap(({ input }) => input.filter(({ text }) => text === 'second').map(() => 'queue')),
      ...entries.flatMap((entry) => (entry.kind === 'message' && entry.message.text === 'second' ? ['message'] : [])),
    ]
  }
  const seen: string[] = []
  const look = () => {
    if (seen.at(-1) !== places().join()) seen.push(places().join())
    watch.look()
  }
  const stop = store.subscribe(look)
  try {
    await watch.until(() => store.getState().isLoaded)
    await start(agentId, 'first')
    const call = await model.nextCall()
    const sent = store.actions.send('second', { whenBusy: 'ENQUEUE' })
    // Changes within one frame are announced together, so a quick answer can replace the draft before it is announced.
    look()
    await sent
    await watch.until(() => places().join() === 'queue')
    call.say('One.')
    call.finish()
    const next = await model.nextCall()
    next.finish()
    await watch.until(() => places().join() === 'message' && !store.getState().isActive)
    expect(seen.filter((places) => places !== '')).toEqual(['draft', 'queue', 'message'])
  } finally {
    stop()
    await opened.close()
    await server.stop()
  }
})
