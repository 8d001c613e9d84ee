import { sql } from 'kysely'

import type { Step } from '../../domain/runs/step.ts'
import type { Reach } from '../../domain/access/viewer.ts'
import { fromColumns } from '../database/columns.ts'
import type { Db, Row } from '../database/schema.ts'
import { ofTenant } from '../access/tenant-scope.ts'
import { toUsage, usageColumns } from './usage.ts'

/** A step has no id of its own: its run and its index identify it. */
export interface StepKey {
  readonly runId: string
  readonly index: number
}

export function toStep(row: Row<'steps'>): Step {
  return {
    ...fromColumns(row, [...usageColumns, 'repeats_model']),
    failedModels: row.failed_models ?? [],
    usage: toUsage(row),
  }
}

export async function findSteps(db: Db, reach: Reach, keys: readonly StepKey[]): Promise<Step[]> {
  const rows = await stepsOfTenant(db, reach)
    .where(isOneOfSteps('steps.run_id', 'steps.index', keys))
    .execute()
  return rows.map(toStep)
}

/** All steps of these runs, ordered by index. */
export async function listStepsOfRuns(db: Db, reach: Reach, runIds: readonly string[]): Promise<Step[]> {
  const rows = await stepsOfTenant(db, reach)
    .where(sql<boolean>`steps.run_id = any(${runIds}::uuid[])`)
    .orderBy('steps.run_id')
    .orderBy('steps.index')
    .execute()
  return rows.map(toStep)
}

/** Always two arrays, however many steps there are, so that the statement's text stays the same. */
export function isOneOfSteps(runColumn: string, indexColumn: string, keys: readonly StepKey[]) {
  const runIds = keys.map((key) => key.runId)
  const indexes = keys.map((key) => key.index)
  return sql<boolean>`(${sql.ref(runColumn)}, ${sql.ref(indexColumn)}) in
    (select * from unnest(${runIds}::uuid[], ${indexes}::integer[]))`
}

function stepsOfTenant(db: Db, reach: Reach) {
  return db
    .selectFrom('steps')
    .innerJoin('runs', 'runs.id', 'steps.run_id')
    .where(ofTenant('runs', reach))
    .selectAll('steps')
}
