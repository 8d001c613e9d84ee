import { expect, test } from 'vitest'

import type { ModelMessage } from '../../src/domain/models/model-request.ts'
import { readScript } from '../../src/providers/demo/demo-script.ts'
import { watchThread } from '../support/blocked.ts'

const user = (text: string): ModelMessage => ({ role: 'user', content: [{ text }] })
const system: ModelMessage = { role: 'system', text: 'Be quick.' }
const call: ModelMessage = {
  role: 'assistant',
  parts: [{ type: 'call', callId: 'c', name: 'roll_dice', argumentsText: '{}' }],
}
const said: ModelMessage = { role: 'assistant', parts: [{ type: 'text', text: 'hi', provider: null }] }
const returned: ModelMessage = {
  role: 'tool',
  returns: [{ callId: 'c', name: 'roll_dice', failed: false, output: '4' }],
}

test('[PRV44] a script is followed once, whatever the server says after it', () => {
  const asked = user('call roll_dice {}')
  expect(readScript([asked]).calls).toHaveLength(1)
  expect(readScript([system, asked]).calls).toHaveLength(1)
  expect(readScript([asked, system]).calls).toHaveLength(1)
  for (const told of [[], [system], [system, system]]) {
    expect(readScript([asked, call, returned, ...told])).toMatchObject({ calls: [], text: 'roll_dice returned: 4' })
  }
  expect(readScript([asked, call, returned, said, system])).toMatchObject({ calls: [], text: 'Noted: Be quick.' })
  expect(readScript([asked, call, returned, user('say more')])).toMatchObject({ calls: [], text: 'more' })
})

test('[PRV44] an unknown failure is answered with the kinds there are', () => {
  expect(readScript([user('fail badly')])).toMatchObject({
    failure: null,
    text: 'There is no failure "badly". Use one of: timeout, rate_limit, authentication, bad_request, context_window, error.',
  })
  expect(readScript([user('fail timeout')]).failure).toBe('timeout')
})

test('[PRV44] a line is read soon, whatever is in it', () => {
  const watch = watchThread()
  const script = readScript([user(`say ${' '.repeat(150_000)}x\ry\ncall ${'a-'.repeat(70_000)}\u2028z`)])
  expect(watch.stop()).toBeLessThan(100)
  expect(script).toMatchObject({ text: 'x\ry', calls: [{ argumentsText: 'z' }] })
})
