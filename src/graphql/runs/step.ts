import { notFound } from '../../domain/errors.ts'
import { encodeStepId } from '../../domain/ids.ts'
import type { ModelFailure as DomainModelFailure } from '../../domain/models/fallback.ts'
import type { Step as DomainStep, StepStatus as DomainStepStatus } from '../../domain/runs/step.ts'
import type { StepKey } from '../../store/runs/steps.ts'
import { builder } from '../builder.ts'
import type { Context } from '../context.ts'
import { describedEnum } from '../described-enum.ts'
import { float, implement, int, json, of, string, time } from '../fields.ts'
import { linkTo } from '../load-existing.ts'
import { Node } from '../node.ts'
import { Message, Run, Step, ToolCall } from '../refs.ts'
import { RunError, StopReason, Usage } from './run-outcome.ts'

const StepStatus = describedEnum<DomainStepStatus>('StepStatus', 'State of a step.', {
  RUNNING: 'The model is answering, or tool calls are running.',
  PAUSED: 'Tool calls wait for decisions or client results.',
  COMPLETED: 'The model has answered and every tool call has its return.',
  FAILED: 'Ended with an error.',
  CANCELLED: 'The run was cancelled during the step.',
})

const StepMetrics = builder.objectRef<DomainStep>('StepMetrics')
implement(StepMetrics, {
  description: 'How long the parts of a step took. A part that has not finished, or did not happen, is null.',
  fields: (t) => ({
    timeToFirstTokenMs: float.orNull('From sending the request to the first streamed content.'),
    modelMs: float.orNull('From sending the request to the complete answer.'),
    toolsMs: float.orNull('From the start of the first tool call to the return of the last.'),
    totalMs: t.field({
      ...float.orNull('From `createdAt` to `finishedAt`, including time spent waiting for decisions. Null until then.'),
      resolve: (step) => step.finishedAt && step.finishedAt.getTime() - step.createdAt.getTime(),
    }),
  }),
})

const ModelFailure = builder.objectRef<DomainModelFailure>('ModelFailure')
implement(ModelFailure, {
  description: 'A model that failed, so that the next fallback was tried.',
  fields: () => ({
    model: string('Handle of the model.'),
    error: of(RunError)('Why it failed.'),
  }),
})

implement(Step, {
  description: 'One model request and the tool calls that followed from it.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      description: 'Globally unique and permanent.',
      resolve: (step) => encodeStepId(step.runId, step.index),
    }),
    run: linkTo(Run, 'runId', 'Run that the step belongs to.'),
    index: int("Position among the run's steps, starting at 0."),
    model: string('Handle of the model that answered, or of the last one that was tried.'),
    failedModels: of([ModelFailure])(
      'Models that failed before `model` was tried, in order. Empty if no fallback was used.',
    ),
    status: of(StepStatus)('Current state of the step.'),
    stopReason: of(StopReason).orNull('Why the run paused or ended with this step. Null if the run continued.'),
    usage: t.field({
      ...of(Usage)('Model usage of this step.'),
      resolve: (step) => ({ ...step.usage, steps: 1 + step.failedModels.length }),
    }),
    metrics: t.field({
      ...of(StepMetrics)('How long the parts of the step took.'),
      resolve: (step) => step,
    }),
    error: of(RunError).orNull('Why the step failed. Null if it did not.'),
    messages: t.field({
      ...of([Message])('Messages that the step added, oldest first.'),
      resolve: (step, _args, context) => context.loaders.messagesOfStep.load(step),
    }),
    toolCalls: t.field({
      ...of([ToolCall])('Tool calls, in the order in which the model made them.'),
      resolve: (step, _args, context) => context.loaders.callsOfStep.load(step),
    }),
    request: t.field({
      ...json.orNull('Request as sent to the provider, without secrets. Null unless kept: see `Agent.keepRequests`.'),
      resolve: async (step, _args, context) => (await context.loaders.exchangeOfStep.load(step))?.request ?? null,
    }),
    response: t.field({
      ...json.orNull('Response as received from the provider. Null unless kept: see `Agent.keepRequests`.'),
      resolve: async (step, _args, context) => (await context.loaders.exchangeOfStep.load(step))?.response ?? null,
    }),
    createdAt: time('When the step started.'),
    finishedAt: time.orNull('When the step ended, including its tool calls. Null until then.'),
  }),
})

/** A step that must exist, because a row names it. */
export async function loadStep(context: Context, key: StepKey): Promise<DomainStep> {
  const step = await context.loaders.steps.load(key)
  if (!step) throw notFound('step', encodeStepId(key.runId, key.index))
  return step
}
