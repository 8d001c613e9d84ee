import { expect } from 'vitest'

import { startTestApp, type TestApp, type TestAppOptions } from '../support/app.ts'
import { createGatedModel, type GatedModel, type ModelCall } from '../support/gated-model.ts'
import { secretTools } from '../support/secret-tools.ts'
import { talkTo, type Talk } from '../support/talk.ts'
import { faultOfRequest } from '../support/well-formed.ts'

export type AskedCall = readonly [name: string, args: unknown]

/** A server with a model that the test controls, and a client. */
export interface Ground {
  readonly app: TestApp
  readonly talk: Talk
  readonly model: GatedModel
  /** Sends a message that the model answers with calls, and waits until the run waits for some of them. */
  ask(to: string, calls?: readonly AskedCall[], options?: Record<string, unknown>): Promise<Asked>
  /** The model answers with just this. */
  answer(text: string): Promise<ModelCall>
  /** The model makes these calls. */
  call(...calls: readonly AskedCall[]): Promise<ModelCall>
  /** Sends a message that the model answers, to show that the conversation works. */
  expectUsable(to: string): Promise<void>
  /** Checks that every request was taken, and that a strict provider would have accepted it. */
  check(): void
}

export interface Asked {
  readonly runId: string
  /** The waiting calls. */
  readonly calls: any[]
}

export const hello = { text: 'hello world' }

export async function startGround(options: TestAppOptions = {}, model = createGatedModel()): Promise<Ground> {
  const app = await startTestApp({
    providers: [model.provider],
    ...options,
    tools: [...secretTools, ...(options.tools ?? [])],
  })
  const talk = talkTo(app)
  const ground: Ground = {
    app,
    talk,
    model,
    async ask(to, calls = [['get_secret_code', hello]], given = {}) {
      const runId = await talk.start(to, 'call the tool', given)
      await ground.call(...calls)
      return { runId, calls: await talk.pending(runId) }
    },
    async answer(text) {
      const call = await model.nextCall()
      call.say(text)
      call.finish()
      return call
    },
    async call(...calls) {
      const call = await model.nextCall()
      for (const [name, args] of calls) call.call(name, args)
      call.finish()
      return call
    },
    async expectUsable(to) {
      const runId = await talk.start(to, 'and now?')
      await ground.answer('as ever')
      expect(await talk.settled(runId, 'answer')).toEqual({ status: 'COMPLETED', answer: 'as ever' })
    },
    check() {
      model.assertAllTaken()
      for (const request of model.requests) expect(faultOfRequest(request)).toBeUndefined()
    },
  }
  return ground
}
