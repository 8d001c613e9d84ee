import { notFound } from '../domain/errors.ts'
import type { ModelFailure as DomainModelFailure } from '../domain/models/fallback.ts'
import type { Step as DomainStep, StepStatus as DomainStepStatus } from '../domain/runs/step.ts'
import type { StepKey } from '../store/runs/steps.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import { loadExisting } from './load-existing.ts'
import { encodeStepId, Node, registerNode } from './node.ts'
import { RunError, StopReason, Usage } from './run-outcome.ts'
import { Message, Run, Step, ToolCall } from './run-refs.ts'

const StepStatus = builder.enumType('StepStatus', {
  description: 'State of a step.',
  values: {
    RUNNING: { description: 'The model is answering, or tool calls are running.' },
    PAUSED: { description: 'Tool calls wait for decisions or client results.' },
    COMPLETED: { description: 'The model has answered and every tool call has its return.' },
    FAILED: { description: 'Ended with an error.' },
    CANCELLED: { description: 'The run was cancelled during the step.' },
  } satisfies Record<DomainStepStatus, { description: string }>,
})

const StepMetrics = builder.objectRef<DomainStep>('StepMetrics')
StepMetrics.implement({
  description: 'How long the parts of a step took. A part that has not finished, or did not happen, is null.',
  fields: (t) => ({
    timeToFirstTokenMs: t.exposeFloat('timeToFirstTokenMs', {
      nullable: true,
      description: 'From sending the request to the first streamed content.',
    }),
    modelMs: t.exposeFloat('modelMs', {
      nullable: true,
      description: 'From sending the request to the complete answer.',
    }),
    toolsMs: t.exposeFloat('toolsMs', {
      nullable: true,
      description: 'From the start of the first tool call to the return of the last.',
    }),
    totalMs: t.float({
      nullable: true,
      description: 'From `createdAt` to `finishedAt`, including time spent waiting for decisions. Null until then.',
      resolve: (step) => step.finishedAt && step.finishedAt.getTime() - step.createdAt.getTime(),
    }),
  }),
})

const ModelFailure = builder.objectRef<DomainModelFailure>('ModelFailure')
ModelFailure.implement({
  description: 'A model that failed, so that the next fallback was tried.',
  fields: (t) => ({
    model: t.exposeString('model', { description: 'Handle of the model.' }),
    error: t.expose('error', { type: RunError, description: 'Why it failed.' }),
  }),
})

Step.implement({
  description: 'One model request and the tool calls that followed from it.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      description: 'Globally unique and permanent.',
      resolve: (step) => encodeStepId(step.runId, step.index),
    }),
    run: t.field({
      type: Run,
      description: 'Run that the step belongs to.',
      resolve: (step, _args, context) => loadExisting(context.loaders.runs, 'Run', step.runId),
    }),
    index: t.exposeInt('index', { description: "Position among the run's steps, starting at 0." }),
    model: t.exposeString('model', {
      description: 'Handle of the model that answered, or of the last one that was tried.',
    }),
    failedModels: t.field({
      type: [ModelFailure],
      description: 'Models that failed before `model` was tried, in order. Empty if no fallback was used.',
      resolve: (step) => [...step.failedModels],
    }),
    status: t.expose('status', { type: StepStatus, description: 'Current state of the step.' }),
    stopReason: t.expose('stopReason', {
      type: StopReason,
      nullable: true,
      description: 'Why the run paused or ended with this step. Null if the run continued.',
    }),
    usage: t.field({
      type: Usage,
      description: 'Model usage of this step.',
      resolve: (step) => ({ ...step.usage, steps: 1 + step.failedModels.length }),
    }),
    metrics: t.field({
      type: StepMetrics,
      description: 'How long the parts of the step took.',
      resolve: (step) => step,
    }),
    error: t.expose('error', {
      type: RunError,
      nullable: true,
      description: 'Why the step failed. Null if it did not.',
    }),
    messages: t.field({
      type: [Message],
      description: 'Messages that the step added, oldest first.',
      resolve: async (step, _args, context) => [...(await context.loaders.messagesOfStep.load(step))],
    }),
    toolCalls: t.field({
      type: [ToolCall],
      description: 'Tool calls, in the order in which the model made them.',
      resolve: async (step, _args, context) => [...(await context.loaders.callsOfStep.load(step))],
    }),
    request: t.field({
      type: 'JSON',
      nullable: true,
      description: 'Request as sent to the provider, without secrets. Null unless kept: see `Agent.keepRequests`.',
      resolve: async (step, _args, context) => (await context.loaders.exchangeOfStep.load(step))?.request ?? null,
    }),
    response: t.field({
      type: 'JSON',
      nullable: true,
      description: 'Response as received from the provider. Null unless kept: see `Agent.keepRequests`.',
      resolve: async (step, _args, context) => (await context.loaders.exchangeOfStep.load(step))?.response ?? null,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the step started.' }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the step ended, including its tool calls. Null until then.',
    }),
  }),
})

registerNode('Step', { load: (context, id) => context.loaders.steps.load(id) })

/** A step that must exist, because a row names it. */
export async function loadStep(context: Context, key: StepKey): Promise<DomainStep> {
  const step = await context.loaders.steps.load(key)
  if (!step) throw notFound('step', encodeStepId(key.runId, key.index))
  return step
}
