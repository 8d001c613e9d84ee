import { defaultModelSettings } from '../../src/domain/models/model-settings.ts'
import type { ModelPart, ModelRequest } from '../../src/domain/models/model-request.ts'
import { demoProvider } from '../../src/providers/demo/demo.ts'
import type { Provider } from '../../src/providers/provider.ts'
import { startFakeAnthropic } from '../support/fake-providers/anthropic.ts'
import { startFakeChat } from '../support/fake-providers/chat.ts'
import type { FakeCall, FakeProvider, FailureKind } from '../support/fake-providers/fake-model.ts'
import { startFakeGemini } from '../support/fake-providers/gemini.ts'
import { startFakeBedrock, startFakeVertex } from '../support/fake-providers/hosted-claude.ts'
import { startFakeResponses } from '../support/fake-providers/responses.ts'

/** What the model should answer. */
export interface Script {
  readonly think?: string
  readonly say?: string
  readonly calls?: readonly { readonly name: string; readonly args: string }[]
  readonly fail?: Extract<FailureKind, 'rate limit' | 'authentication' | 'bad request' | 'context' | 'server'>
  /** Writes its text and then nothing more. */
  readonly stall?: true
}

/** A provider and its model, which says what it is told to. */
export interface Speaker {
  readonly provider: Provider
  readonly handle: string
  ask(script: Script, signal?: AbortSignal): AsyncIterable<ModelPart>
  stop(): Promise<void>
}

export const fakes = {
  openai: startFakeResponses,
  'openai-chat': startFakeChat,
  anthropic: startFakeAnthropic,
  gemini: startFakeGemini,
} as const

/** Claude at other hosts: another address, and other frames around the same format. */
export const hostedFakes = { bedrock: startFakeBedrock, vertex: startFakeVertex } as const

export const speakers: readonly { readonly name: string; readonly start: () => Promise<Speaker> }[] = [
  { name: 'demo', start: async () => demoSpeaker },
  ...Object.entries({ ...fakes, ...hostedFakes }).map(([name, start]) => ({
    name,
    start: async () => fakeSpeaker(await start()),
  })),
]

const demoFailures = {
  'rate limit': 'rate_limit',
  authentication: 'authentication',
  'bad request': 'bad_request',
  context: 'context_window',
  server: 'error',
} as const

const demoSpeaker: Speaker = {
  provider: demoProvider,
  handle: 'demo/scripted',
  ask({ think, say, calls = [], fail, stall }, signal = new AbortController().signal) {
    const lines = [
      ...(stall ? ['slow 100'] : []),
      ...(think ? [`think ${think}`] : []),
      ...(say ? [`say ${say}${stall ? ' and on'.repeat(1000) : ''}`] : []),
      ...(fail ? [`fail ${demoFailures[fail]}`] : []),
      ...calls.map(({ name, args }) => `call ${name} ${args}`),
    ]
    return demoProvider.stream(aRequest('demo/scripted', lines.join('\n')), signal)
  },
  stop: async () => {},
}

function fakeSpeaker(fake: FakeProvider): Speaker {
  return {
    provider: fake.provider,
    handle: fake.handle,
    async *ask(script, signal = new AbortController().signal) {
      const parts = fake.provider.stream(aRequest(fake.handle, 'hello'), signal)[Symbol.asyncIterator]()
      const first = parts.next()
      // Temporary failures are tried three times, so this refuses as often.
      for (let tries = isPassing(script.fail) ? 3 : 1; tries > 0; tries -= 1) play(await fake.nextCall(), script)
      yield* rest(await first, parts)
    },
    stop: fake.stop,
  }
}

function isPassing(fail: Script['fail']): boolean {
  return fail === 'rate limit' || fail === 'server'
}

function play(call: FakeCall, { think, say, calls = [], fail, stall }: Script): void {
  if (fail) return call.refuse(fail, { 'retry-after-ms': '1' })
  if (think) call.think(think)
  if (say) call.say(say)
  for (const { name, args } of calls) call.call(name, args)
  if (!stall) call.finish()
}

async function* rest<T>(first: IteratorResult<T>, iterator: AsyncIterator<T>): AsyncGenerator<T, void> {
  for (let result = first; !result.done; result = await iterator.next()) yield result.value
}

export const echoTool = {
  name: 'echo',
  description: 'Returns what it is given.',
  parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
}

export function aRequest(model: string, text: string, more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model,
    systemPrompt: 'Be brief.',
    messages: [{ role: 'user', content: [{ text }] }],
    tools: [echoTool],
    parallelToolCalls: true,
    settings: defaultModelSettings,
    ...more,
  }
}

/** Everything in a stream, except signs of life and counts before the end. */
export async function collect(parts: AsyncIterable<ModelPart>): Promise<ModelPart[]> {
  const all: ModelPart[] = []
  for await (const part of parts) if (part.type !== 'alive' && part.type !== 'usage') all.push(part)
  return all
}

/** Items in the order in which they appeared, with their complete text. */
export function itemsOf(parts: readonly ModelPart[]) {
  const items = new Map<string, { type: string; text: string; done: boolean; [key: string]: unknown }>()
  for (const part of parts) {
    if (!('item' in part)) continue
    const item = items.get(part.item) ?? { type: part.type, text: '', done: false }
    items.set(part.item, item)
    if (part.type === 'call') Object.assign(item, { name: part.name, callId: part.callId })
    if ('text' in part) item.text += part.text
    if (part.type === 'done') Object.assign(item, { done: true, redacted: part.redacted, provider: part.provider })
  }
  return [...items.values()]
}
