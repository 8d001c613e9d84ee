import fc from 'fast-check'
import { expect, test } from 'vitest'

import { pieceBeyond, writeText, type LivePosition } from '../../src/domain/runs/live-step.ts'
import { packMessages, senderOf, unpackMessages, type RelayMessage } from '../../src/live/relay-messages.ts'
import { StepCopy, toPatch, type Patch } from '../../src/live/step-copy.ts'
import { readableText } from '../support/any-text.ts'

const text = fc.oneof(readableText({ maxLength: 20 }), fc.constantFrom('', '\ud83d', '\ude42', '\u0001'))
const items = fc.array(fc.array(text, { maxLength: 6 }), { minLength: 1, maxLength: 5 })
const payloadLimit = 8_000

test('[BUS8] a copy becomes equal to the original, whichever patches are lost, repeated or reordered', () => {
  const fate = fc.infiniteStream(fc.constantFrom('arrives', 'is lost', 'comes twice', 'comes late'))
  fc.assert(
    fc.property(items, fate, fc.integer({ min: 2, max: 7 }), (written, fates, size) => {
      const step = { seq: 4, stepIndex: 0, items: [] as any[] }
      let copy: StepCopy | undefined
      let sent: LivePosition = { item: 0, offset: 0 }
      const late: Patch[] = []
      const receive = (patch: Patch) => {
        copy ??= new StepCopy(patch)
        // The reader asks for the missing text, and the writer sends from there.
        if (!copy.apply(patch)) sent = copy.position
      }
      const sendAll = (isReliable: boolean) => {
        for (let piece = pieceBeyond(step.items, sent); piece; piece = pieceBeyond(step.items, sent)) {
          const patch = toPatch(step, piece, size)
          sent = { item: patch.item, offset: patch.offset + patch.text.length }
          const how = isReliable ? 'arrives' : fates.next().value
          if (how === 'comes late') late.push(patch)
          if (how === 'arrives' || how === 'comes twice') receive(patch)
          if (how === 'comes twice') receive(patch)
          if (fates.next().value === 'comes late') for (const each of late.splice(0)) receive(each)
        }
      }
      for (const [index, chunks] of written.entries()) {
        const item = { kind: 'ASSISTANT', id: `message ${index}`, text: '', complete: false }
        step.items.push(item)
        for (const chunk of chunks) {
          writeText(item, chunk)
          sendAll(false)
        }
        item.complete = true
        sendAll(false)
      }
      // After a silence, the reader asks again.
      sent = copy ? copy.position : { item: 0, offset: 0 }
      sendAll(true)
      const shown = (all: readonly { readonly id: string; readonly text: string }[]) =>
        all.filter((item) => item.text !== '').map(({ id, text }) => [id, text])
      expect(shown(copy ? copy.items : [])).toEqual(shown(step.items))
    }),
  )
})

test('[BUS9] messages are packed in order into payloads that Postgres accepts, no two of them equal', () => {
  const message = text.map((value): RelayMessage => ({ type: 'stop', run: value }))
  fc.assert(
    fc.property(fc.array(message, { maxLength: 400, size: 'max' }), (messages) => {
      let number = 0
      const payloads = packMessages('me', messages, { payloadLimit, nextNumber: () => (number += 1) })
      expect(new Set(payloads).size).toBe(payloads.length)
      for (const payload of payloads) {
        expect(Buffer.byteLength(payload)).toBeLessThan(payloadLimit)
        expect(senderOf(payload)).toBe('me')
      }
      expect(payloads.flatMap((payload) => unpackMessages(payload) ?? [])).toEqual(messages)
    }),
    { numRuns: 30 },
  )
  expect(senderOf('something else')).toBeUndefined()
  expect(unpackMessages('1 "me" 1 [{')).toBeUndefined()
})

test('[UPG1] a payload of another version of the protocol is ignored', () => {
  const [payload] = packMessages('me', [{ type: 'hello' }], { payloadLimit, nextNumber: () => 1 })
  expect(senderOf(payload!)).toBe('me')
  expect(senderOf(payload!.replace('1', '2'))).toBeUndefined()
})

test('[BUS10] the longest patch fits a payload, however its text has to be encoded', () => {
  for (const unit of ['\u0001', '\ud83d', '€', '"']) {
    const item = { kind: 'ASSISTANT' as const, id: '0'.repeat(36), text: unit.repeat(5_000), complete: false }
    const step = { seq: 1e9, stepIndex: 1e6, items: [item] }
    const patch = toPatch(step, { live: item, item: 0, offset: 0, end: 5_000 }, 1_200)
    const payloads = packMessages('0'.repeat(36), [{ type: 'text', run: '0'.repeat(36), patch }], {
      payloadLimit,
      nextNumber: () => 1e12,
    })
    expect(payloads).toHaveLength(1)
  }
})
