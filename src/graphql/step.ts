import { notFound } from '../domain/errors.ts'
import type { Step as DomainStep, StepStatus as DomainStepStatus } from '../domain/step.ts'
import type { StepKey } from '../store/steps.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import { loadExisting } from './load-existing.ts'
import { encodeStepId, Node, registerNode } from './node.ts'
import { RunError, StopReason, Usage } from './run-outcome.ts'
import { Message, Run, Step, ToolCall } from './run-refs.ts'

const StepStatus = builder.enumType('StepStatus', {
  description: 'Where a step stands.',
  values: {
    RUNNING: { description: 'The model is being asked, or its calls are being run.' },
    PAUSED: { description: 'Calls of it wait for decisions or for the client.' },
    COMPLETED: { description: 'The model has answered, and every call has its return.' },
    FAILED: { description: 'It ended by an error.' },
    CANCELLED: { description: 'Its run was cancelled.' },
  } satisfies Record<DomainStepStatus, { description: string }>,
})

const StepMetrics = builder.objectRef<DomainStep>('StepMetrics')
StepMetrics.implement({
  description: 'How long the parts of a step took. What has not happened yet is null.',
  fields: (t) => ({
    timeToFirstTokenMs: t.exposeFloat('timeToFirstTokenMs', {
      nullable: true,
      description: 'Request sent → first streamed content.',
    }),
    modelMs: t.exposeFloat('modelMs', { nullable: true, description: 'Request sent → answer complete.' }),
    toolsMs: t.exposeFloat('toolsMs', { nullable: true, description: 'First call started → last call returned.' }),
    totalMs: t.float({
      nullable: true,
      description: 'From `createdAt` to `finishedAt`, whatever it waited for included. Null until it has finished.',
      resolve: (step) => step.finishedAt && step.finishedAt.getTime() - step.createdAt.getTime(),
    }),
  }),
})

Step.implement({
  description: 'One model request and the tool calls that came of it.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      description: 'Globally unique, and the same for ever.',
      resolve: (step) => encodeStepId(step.runId, step.index),
    }),
    run: t.field({
      type: Run,
      description: 'The run that made it.',
      resolve: (step, _args, context) => loadExisting(context.loaders.runs, 'Run', step.runId),
    }),
    index: t.exposeInt('index', { description: 'From 0.' }),
    model: t.exposeString('model', { description: 'The handle of the model that was asked.' }),
    status: t.expose('status', { type: StepStatus, description: 'Where it stands.' }),
    stopReason: t.expose('stopReason', {
      type: StopReason,
      nullable: true,
      description: 'Why the run paused or ended with it. Null where the run went on.',
    }),
    usage: t.field({
      type: Usage,
      description: 'What it used of the model.',
      resolve: (step) => ({ ...step.usage, steps: 1 }),
    }),
    metrics: t.field({ type: StepMetrics, description: 'How long its parts took.', resolve: (step) => step }),
    error: t.expose('error', {
      type: RunError,
      nullable: true,
      description: 'What it failed of. Null where it did not.',
    }),
    messages: t.field({
      type: [Message],
      description: 'The messages that came of it, oldest first.',
      resolve: async (step, _args, context) => [...(await context.loaders.messagesOfStep.load(step))],
    }),
    toolCalls: t.field({
      type: [ToolCall],
      description: 'Its calls, in the order in which the model made them.',
      resolve: async (step, _args, context) => [...(await context.loaders.callsOfStep.load(step))],
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it began.' }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it had ended, with all its calls. Null until then.',
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
