import type { Kysely, Selectable } from 'kysely'

import { encodeId } from '../../src/domain/ids.ts'
import { hasEnded, transitions, type StoredRunStatus } from '../../src/domain/runs/run.ts'
import { isSettled } from '../../src/domain/tools/tool-call.ts'
import { listLogEntries } from '../../src/store/runs/run-log.ts'
import { wholeRequest } from '../../src/store/runs/runs.ts'
import type { Database } from '../../src/store/database/schema.ts'
import type { Sent } from './world.ts'

/** What clients were told and tools did, for comparison with what is stored. */
export interface Told {
  readonly conversationId: string
  readonly sent: readonly Sent[]
  readonly followUps: readonly string[]
  readonly executions: ReadonlyMap<string, number>
}

type Row<Table extends keyof Database> = Selectable<Database[Table]>

/** Which of the promises a conversation does not keep once nothing happens in it any more. */
export async function brokenPromises(db: Kysely<Database>, told: Told): Promise<string[]> {
  const { conversationId } = told
  const conversation = await db
    .selectFrom('conversations')
    .where('id', '=', conversationId)
    .selectAll()
    .executeTakeFirstOrThrow()
  const runs = await db
    .selectFrom('runs')
    .where('conversation_id', '=', conversationId)
    .selectAll()
    .select(wholeRequest.as('request'))
    .orderBy('number')
    .execute()
  const messages = await db
    .selectFrom('messages')
    .where('conversation_id', '=', conversationId)
    .selectAll()
    .orderBy('position')
    .execute()
  const faults = [...faultsOfRest(conversation, runs), ...faultsOfInput(runs, messages, told)]
  faults.push(...faultsOfPositions(conversation, runs, messages))
  for (const run of runs) {
    const own = messages.filter((message) => message.run_hold === run.hold)
    const ofRun = [...(await faultsOfLog(db, run, own)), ...(await faultsOfCalls(db, run, own, told))]
    faults.push(...ofRun.map((fault) => `run ${run.number}: ${fault}`))
  }
  return faults
}

function faultsOfRest(conversation: Row<'conversations'>, runs: readonly Row<'runs'>[]): string[] {
  const faults = runs.flatMap((run) => [
    ...(hasEnded(run.status) ? [] : [`run ${run.number} is still ${run.status}`]),
    ...(run.lease === null ? [] : [`run ${run.number} has a lease`]),
  ])
  return conversation.active_run_id === null ? faults : [...faults, 'the conversation is still held']
}

/** A message that was accepted made one run and is stored once. A message that was refused had no effect. */
function faultsOfInput(runs: readonly Row<'runs'>[], messages: readonly Row<'messages'>[], told: Told): string[] {
  const faults: string[] = []
  const stored = messages.flatMap((message) => (message.type === 'USER' ? [firstText(message.content)] : []))
  const count = (list: readonly unknown[], value: unknown) => list.filter((entry) => entry === value).length
  const inputs = runs.map((run) => firstText(run.request.messages[0]))
  for (const { text, outcome } of told.sent) {
    const made = count(inputs, text)
    const fits = outcome === undefined ? made <= 1 : made === (outcome.outcome === 'accepted' ? 1 : 0)
    if (!fits) faults.push(`"${text}" made ${made} runs, and the client was told: ${outcome?.outcome}`)
  }
  for (const [index, run] of runs.entries()) {
    const times = count(stored, inputs[index])
    const began = run.first_position !== null
    if (!began && run.status !== 'CANCELLED') faults.push(`run ${run.number} never began and is ${run.status}`)
    if (times !== (began ? 1 : 0)) faults.push(`the input of run ${run.number} is stored ${times} times`)
  }
  for (const text of told.followUps) {
    if (count(stored, text) !== 1) faults.push(`"${text}" was accepted and is stored ${count(stored, text)} times`)
  }
  return faults
}

function firstText(message: unknown): string | undefined {
  return (message as { content?: { text?: string }[] } | undefined)?.content?.[0]?.text
}

/** Messages are one sequence without gaps, and each run's messages are a range of it. */
function faultsOfPositions(
  conversation: Row<'conversations'>,
  runs: readonly Row<'runs'>[],
  messages: readonly Row<'messages'>[],
): string[] {
  const faults = messages.flatMap(({ position }, index) =>
    position === index + 1 ? [] : [`message ${index + 1} has the position ${position}`],
  )
  if (conversation.next_position !== messages.length + 1) {
    faults.push(`the conversation goes on at ${conversation.next_position} after ${messages.length} messages`)
  }
  for (const { number, hold, first_position: first, next_position: next } of runs) {
    const own = messages.filter((message) => message.run_hold === hold).map((message) => message.position)
    const range = Array.from({ length: (next ?? 0) - (first ?? 0) }, (_, place) => first! + place)
    if (own.join() !== range.join()) faults.push(`run ${number} has the messages ${own} and should have ${range}`)
  }
  return faults
}

/** The log is numbered without gaps, has each message once, and follows a possible sequence of statuses. */
async function faultsOfLog(db: Kysely<Database>, run: Row<'runs'>, own: readonly Row<'messages'>[]): Promise<string[]> {
  const faults: string[] = []
  const entries = await listLogEntries(db, run.id, { after: 0, checkpoints: 10_000 })
  let last: StoredRunStatus | undefined
  const told: string[] = []
  for (const [index, { seq, entry }] of entries.entries()) {
    if (seq !== index + 1) faults.push(`the log has ${seq} where ${index + 1} should be`)
    if (entry.type === 'message') told.push(entry.id)
    const ended = last !== undefined && hasEnded(last)
    if (entry.type !== 'status') {
      if (ended) faults.push(`${entry.type} follows ${last}`)
    } else {
      if (last && !transitions[last].includes(entry.status)) faults.push(`${entry.status} follows ${last}`)
      last = entry.status
    }
  }
  const seq = entries.length + 1
  if (run.next_seq !== seq) faults.push(`the log ends before ${seq}, and next is ${run.next_seq}`)
  if (last !== run.status) faults.push(`the log ends with ${last}, and the run is ${run.status}`)
  if (own.map(({ id }) => id).join() !== told.join()) faults.push('the log tells other messages than are stored')
  return faults
}

/** Every call has one result, every step with calls one message of returns, and nothing ran twice that must not. */
async function faultsOfCalls(
  db: Kysely<Database>,
  run: Row<'runs'>,
  own: readonly Row<'messages'>[],
  { executions }: Told,
): Promise<string[]> {
  const faults: string[] = []
  const calls = await db.selectFrom('tool_calls').where('run_id', '=', run.id).selectAll().execute()
  const steps = await db.selectFrom('steps').where('run_id', '=', run.id).selectAll().orderBy('index').execute()
  for (const call of calls) {
    const executed = executions.get(encodeId('ToolCall', call.id)) ?? 0
    if (call.result === null || !isSettled(call)) faults.push(`${call.name} is ${call.status} at the end`)
    if (call.name !== 'again' && executed > 1) faults.push(`${call.name} was executed ${executed} times`)
    if (call.status === 'DENIED' && executed > 0) faults.push(`${call.name} was denied and executed`)
    if (call.status === 'SUCCEEDED' && call.decision?.kind !== 'CLIENT_RETURN' && executed === 0) {
      faults.push(`${call.name} succeeded and was never executed`)
    }
  }
  for (const [index, step] of steps.entries()) {
    if (step.index !== index) faults.push(`step ${index} is numbered ${step.index}`)
    if (step.finished_at === null) faults.push(`step ${index} is not finished`)
    const expected = calls.some((call) => call.step_index === index) ? 1 : 0
    const returned = own.filter((message) => message.type === 'TOOL_RETURN' && message.step_index === index).length
    if (returned !== expected) faults.push(`step ${index} has ${returned} messages of returns`)
  }
  // Failed requests and requests for summaries count too.
  const asked = steps.filter((step) => step.model_ms !== null).length
  if (run.steps < asked) faults.push(`${asked} requests were made for steps, and ${run.steps} counted`)
  return faults
}
