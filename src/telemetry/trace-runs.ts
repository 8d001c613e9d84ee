import { encodeId, encodeStepId } from '../domain/ids.ts'
import { callSpanId, modelSpanId, stepSpanId, traceOfRun, waitSpanId } from '../domain/runs/run-trace.ts'
import { hasEnded } from '../domain/runs/run.ts'
import type { Step } from '../domain/runs/step.ts'
import { isSettled, type ToolCall } from '../domain/tools/tool-call.ts'
import { decisionNow, type ObservedRun, type RunObserver } from './observation.ts'
import type { EmitSpan, Span } from './span.ts'
import { textOf } from '../domain/conversations/content.ts'
import type { GivenMessage, NewMessage } from '../domain/conversations/message.ts'

export interface SpanOptions {
  /** Whether spans show prompts, answers, arguments and results. */
  readonly contents: boolean
}

/**
 * Writes a span for each run, step, model request, tool call and wait, when the checkpoint that ends it is stored.
 * Times and ids come from the record, so nothing is kept in memory, and a crash between the start and the end of a span
 * does not matter.
 */
export function traceRuns(emit: EmitSpan, options: SpanOptions): RunObserver {
  return (observed) => {
    const trace = traceOfRun(observed.run)
    if (!trace.sampled) return
    const common = { traceId: trace.traceId, kind: 'INTERNAL', parentSpanId: trace.spanId } as const
    const add = (span: Omit<Span, keyof typeof common> & Partial<Span>) => emit({ ...common, ...span })
    if (observed.asked) add(modelSpan(observed, observed.asked, options))
    for (const observation of observed.observations) {
      if (observation.type === 'stepFinished') add(stepSpan(observed, observation.step))
      else if (observation.type === 'call') {
        if (hasWaited(observation.call, observed.at)) add(waitSpan(observed, observation.call))
        if (hasRunHere(observation.call)) add(callSpan(observed, observation.call, options))
      } else if (observation.type === 'status' && hasEnded(observation.status)) {
        add({ ...runSpan(observed, options), spanId: trace.spanId, parentSpanId: trace.parentSpanId })
      }
    }
  }
}

type OwnSpan = Omit<Span, 'traceId' | 'kind' | 'parentSpanId'> & Partial<Span>

function runSpan({ run, at, model, asked }: ObservedRun, { contents }: SpanOptions): Omit<OwnSpan, 'spanId'> {
  const used = model ?? asked?.model
  return {
    name: 'invoke_agent',
    start: run.createdAt,
    end: at,
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      ...modelAttributes(used),
      'gen_ai.agent.id': encodeId('Agent', run.agentId),
      'gen_ai.conversation.id': encodeId('Conversation', run.conversationId),
      'gen_ai.usage.input_tokens': run.usage.inputTokens,
      'gen_ai.usage.output_tokens': run.usage.outputTokens,
      'gen_ai.input.messages': contents ? inputOf(run.request.messages) : undefined,
      'holdpoint.run.id': encodeId('Run', run.id),
      'holdpoint.run.kind': run.kind,
      'holdpoint.run.status': run.status,
      'holdpoint.run.stop_reason': run.stopReason ?? undefined,
      'holdpoint.run.attempts': run.attempts,
      'holdpoint.run.steps': run.steps,
      'holdpoint.tenant.id': encodeId('Tenant', run.tenantId),
      'holdpoint.cost_usd': run.usage.costUsd ?? undefined,
      'error.type': run.error?.type,
    },
    error: run.error?.message ?? null,
  }
}

function stepSpan({ run, at }: ObservedRun, step: Step): OwnSpan {
  return {
    spanId: stepSpanId(run.id, step.index),
    name: `step ${step.index}`,
    start: step.createdAt,
    end: step.finishedAt ?? at,
    attributes: {
      'holdpoint.step.id': encodeStepId(run.id, step.index),
      'holdpoint.step.attempt': step.attempt,
      'holdpoint.step.status': step.status,
      'error.type': step.error?.type,
    },
    error: step.error?.message ?? null,
  }
}

function modelSpan({ run, at, messages, spent }: ObservedRun, step: Step, { contents }: SpanOptions): OwnSpan {
  return {
    spanId: modelSpanId(run.id, step.index, step.attempt),
    parentSpanId: stepSpanId(run.id, step.index),
    name: `chat ${nameOf(step.model)}`,
    kind: 'CLIENT',
    start: new Date(at.getTime() - step.modelMs!),
    end: at,
    attributes: {
      'gen_ai.operation.name': 'chat',
      ...modelAttributes(step.model),
      'gen_ai.conversation.id': encodeId('Conversation', run.conversationId),
      'gen_ai.usage.input_tokens': spent.inputTokens,
      'gen_ai.usage.output_tokens': spent.outputTokens,
      'gen_ai.usage.cache_read.input_tokens': spent.cachedInputTokens,
      'gen_ai.response.time_to_first_chunk':
        step.timeToFirstTokenMs === null ? undefined : step.timeToFirstTokenMs / 1000,
      'gen_ai.response.finish_reasons': step.stopReason === null ? undefined : [step.stopReason.toLowerCase()],
      'gen_ai.output.messages': contents ? answerOf(messages) : undefined,
      'holdpoint.failed_models':
        step.failedModels.length === 0 ? undefined : step.failedModels.map(({ model }) => model),
      'error.type': step.error?.type,
    },
    error: step.error?.message ?? null,
  }
}

function callSpan({ run, at }: ObservedRun, call: ToolCall, { contents }: SpanOptions): OwnSpan {
  return {
    spanId: callSpanId(call.id),
    parentSpanId: stepSpanId(run.id, call.stepIndex),
    name: `execute_tool ${call.name}`,
    start: call.startedAt!,
    end: call.finishedAt ?? at,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': call.name,
      'gen_ai.tool.call.id': encodeId('ToolCall', call.id),
      'gen_ai.tool.call.arguments': contents ? JSON.stringify(call.editedArguments ?? call.arguments) : undefined,
      'gen_ai.tool.call.result': contents ? call.result?.output : undefined,
      'holdpoint.tool_call.status': call.status,
      'error.type': call.status === 'FAILED' ? 'tool_error' : undefined,
    },
    error: call.status === 'FAILED' ? 'The tool returned an error.' : null,
  }
}

function waitSpan({ run, at }: ObservedRun, call: ToolCall): OwnSpan {
  return {
    spanId: waitSpanId(call.id),
    parentSpanId: stepSpanId(run.id, call.stepIndex),
    name: call.needs === 'APPROVAL' ? `wait_for_approval ${call.name}` : `wait_for_client ${call.name}`,
    start: call.createdAt,
    end: at,
    attributes: {
      'gen_ai.tool.name': call.name,
      'gen_ai.tool.call.id': encodeId('ToolCall', call.id),
      'holdpoint.decision': call.decision?.kind ?? 'NONE',
      'holdpoint.decided_by': call.decision?.actor?.id,
    },
    error: null,
  }
}

/** Decided now, or abandoned without a decision. */
function hasWaited(call: ToolCall, at: Date): boolean {
  if (call.needs === 'NOTHING') return false
  return decisionNow(call, at) !== null || (call.decision === null && isSettled(call))
}

function hasRunHere(call: ToolCall): boolean {
  return isSettled(call) && call.startedAt !== null
}

function modelAttributes(handle: string | undefined) {
  if (handle === undefined) return {}
  const [provider] = handle.split('/')
  return {
    'gen_ai.provider.name': provider === 'openai-chat' ? 'openai' : provider,
    'gen_ai.request.model': nameOf(handle),
  }
}

function nameOf(handle: string): string {
  return handle.slice(handle.indexOf('/') + 1)
}

/** What a client sent, in the format of the GenAI conventions. */
function inputOf(messages: readonly GivenMessage[]): string {
  return JSON.stringify(
    messages.map(({ role, content }) => ({
      role: role.toLowerCase(),
      parts: [{ type: 'text', content: textOf(content) }],
    })),
  )
}

/** What a model wrote, in the format of the GenAI conventions. Its tool calls have spans of their own. */
function answerOf(messages: readonly NewMessage[]): string {
  const parts = messages.flatMap(({ type, content }) => {
    if (type === 'ASSISTANT') return [{ type: 'text', content: content.text }]
    return type === 'REASONING' && !content.redacted ? [{ type: 'reasoning', content: content.text }] : []
  })
  return JSON.stringify(parts.length === 0 ? [] : [{ role: 'assistant', parts }])
}
