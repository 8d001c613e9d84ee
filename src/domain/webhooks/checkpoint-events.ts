import { randomUUID } from 'node:crypto'

import { storableJsonText, type JsonObject } from '../../util/json.ts'
import { approvalsRequired } from '../approvals/call-approvals.ts'
import { encodeId } from '../ids.ts'
import { sumOfTokens } from '../models/usage.ts'
import type { Checkpoint } from '../runs/draft.ts'
import { hasEnded, shownStatus } from '../runs/run.ts'
import type { DecidedCall, ToolCall } from '../tools/tool-call.ts'
import type { WebhookEvent } from './webhook.ts'

/** An event as JSON text. The run's answer, which may be stored already, belongs between the two parts. */
export interface CheckpointEvent {
  readonly event: WebhookEvent
  readonly head: string
  readonly tail: string
}

/** What webhooks are told of a checkpoint. Most checkpoints tell nothing. */
export function eventsOf(checkpoint: Checkpoint): CheckpointEvent[] {
  const { before, after, newCalls, decidedCalls, reachedBudget } = checkpoint
  const pending = newCalls.filter(({ status }) => status === 'PENDING')
  // A client's result tells nobody anything new: the client has it.
  const decided = decidedCalls.filter(({ decision }) => decision.kind !== 'CLIENT_RETURN')
  const ends = hasEnded(after.status) && !hasEnded(before.status)
  if (!ends && !reachedBudget && pending.length === 0 && decided.length === 0) return []
  const run = shownRun(checkpoint)
  const event = (event: WebhookEvent, data: object) => textOf(event, checkpoint.at, { run, ...data })
  return [
    ...decided.map((call) =>
      call.decision.actor === null
        ? event('APPROVAL_EXPIRED', { toolCall: shownCall(call) })
        : event('APPROVAL_DECIDED', { toolCall: shownCall(call), decision: shownDecision(call) }),
    ),
    ...pending.map((call) =>
      event(call.needs === 'CLIENT_EXECUTION' ? 'CLIENT_CALL_REQUESTED' : 'APPROVAL_REQUESTED', {
        toolCall: shownCall(call),
      }),
    ),
    ...(reachedBudget ? [event('BUDGET_REACHED', { budget: reachedBudget })] : []),
    ...(ends ? [event('RUN_ENDED', {})] : []),
  ]
}

/** Stands for the answer. Nothing else in the text can be equal to it. */
const answerMark = randomUUID()

function textOf(event: WebhookEvent, at: Date, data: object): CheckpointEvent {
  const text = storableJsonText({ type: event, timestamp: at.toISOString(), data })
  const place = text.indexOf(`"${answerMark}"`)
  return { event, head: text.slice(0, place), tail: text.slice(place + answerMark.length + 2) }
}

function shownRun({ after: run, agentName }: Checkpoint) {
  const { usage } = run
  return {
    id: encodeId('Run', run.id),
    status: shownStatus(run),
    stopReason: run.stopReason,
    answer: answerMark,
    error: run.error,
    agentId: encodeId('Agent', run.agentId),
    agentName,
    conversationId: encodeId('Conversation', run.conversationId),
    background: run.kind === 'SLEEPTIME',
    metadata: run.metadata,
    usage: { steps: run.steps, ...usage, totalTokens: sumOfTokens(usage.inputTokens, usage.outputTokens) },
    createdAt: run.createdAt,
    finishedAt: run.finishedAt,
  }
}

function shownCall(call: ToolCall): JsonObject {
  return {
    id: encodeId('ToolCall', call.id),
    name: call.name,
    arguments: call.arguments,
    needs: call.needs,
    approvalsRequired: approvalsRequired(call),
    expiresAt: call.expiresAt?.toISOString() ?? null,
  }
}

function shownDecision({ decision, decidedAt, editedArguments }: DecidedCall) {
  const { kind, reason, actor } = decision
  return { kind, reason, editedArguments, decidedBy: actor, decidedAt }
}
