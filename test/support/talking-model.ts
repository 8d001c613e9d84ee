import type { ModelPart, ModelRequest } from '../../src/domain/models/model-request.ts'
import type { RunError } from '../../src/domain/runs/run.ts'
import { noUsage, type Usage } from '../../src/domain/models/usage.ts'
import { weighRequest } from '../../src/domain/context/request-weight.ts'
import type { Provider } from '../../src/providers/provider.ts'
import { faultOfRequest } from './well-formed.ts'

export interface Reply {
  readonly text?: string
  readonly calls?: readonly { readonly name: string; readonly args: unknown }[]
  readonly failure?: Partial<RunError>
  readonly usage?: Partial<Usage>
}

export type Answering = (request: ModelRequest) => Reply | Promise<Reply>

export interface TalkingModel {
  readonly provider: Provider
  /** Every request so far, oldest first. */
  readonly requests: ModelRequest[]
}

/**
 * Models that answer with a function of the request, each under `talk/<name>` with its window. They are as strict as a
 * real one: a request in which a call has no return, or that is larger than the agent's window, fails the test.
 */
export function createTalkingModel(
  models: Readonly<Record<string, { readonly window: number; readonly answer: Answering }>>,
): TalkingModel {
  const requests: ModelRequest[] = []
  async function* stream(request: ModelRequest): AsyncGenerator<ModelPart, void> {
    requests.push(request)
    const { window, answer } = models[request.model.slice('talk/'.length)]!
    const fault = faultOfRequest(request)
    if (fault) throw new Error(fault)
    const weight = weighRequest(request).total
    const limit = request.settings.contextWindow ?? window
    if (weight > limit) throw new Error(`The request weighs ${weight}, and the window is ${limit}.`)

    const { text, calls = [], failure, usage } = await answer(request)
    if (text !== undefined) yield { type: 'text', item: 'text', text }
    if (failure) {
      const error = { type: 'LLM_ERROR' as const, message: 'It failed.', detail: null, retryable: true, ...failure }
      yield { type: 'failure', error }
      return
    }
    for (const [index, call] of calls.entries()) {
      const item = `call ${index}`
      yield { type: 'call', item, callId: `call_${request.messages.length}_${index}`, name: call.name }
      yield { type: 'arguments', item, text: JSON.stringify(call.args) }
      yield { type: 'done', item }
    }
    yield { type: 'finish', reason: 'end', usage: { ...noUsage, inputTokens: weight, outputTokens: 5, ...usage } }
  }
  return {
    requests,
    provider: {
      name: 'talk',
      models: () =>
        Object.entries(models).map(([name, { window }]) => ({
          handle: `talk/${name}`,
          provider: 'talk',
          contextWindow: window,
        })),
      requestBody: (request) => JSON.parse(JSON.stringify(request)),
      stream,
    },
  }
}
