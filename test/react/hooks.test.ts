import { createElement, type ReactNode } from 'react'
import { renderToString } from 'react-dom/server'
import { expect, test } from 'vitest'

import { createClient, type Client } from '../../client/client.ts'
import { HoldpointProvider } from '../../react/client-context.ts'
import { createStore, shareStore } from '../../react/store.ts'
import { useConnection } from '../../react/use-connection.ts'
import { useConversation } from '../../react/use-conversation.ts'
import { useInbox } from '../../react/use-inbox.ts'
import { useRun } from '../../react/use-run.ts'

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
