import type pg from 'pg'

export interface Statement {
  readonly sql: string
  readonly parameters: readonly unknown[]
}

/** What Postgres did to execute a statement. */
export interface Explanation {
  /** Tables that it read completely. */
  readonly scanned: readonly string[]
  /** Rows that it read, whether or not they matched. */
  readonly visited: number
  /** Pages that it read. */
  readonly blocks: number
  readonly plan: string
}

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly PlanNode[]
}

/** Executes a statement and rolls it back. */
export async function explain(pool: pg.Pool, { sql, parameters }: Statement): Promise<Explanation> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `explain (analyze, buffers, timing off, format json) ${sql}`,
      parameters as unknown[],
    )
    const root = rows[0]!['QUERY PLAN'][0].Plan
    const scans = nodesOf(root).filter((node) => node['Relation Name'] ?? node['Index Name'])
    return {
      scanned: scans
        .filter((node) => node['Node Type'].includes('Seq Scan'))
        .flatMap((node) => node['Relation Name'] ?? []),
      visited: scans.reduce((sum, node) => sum + visitedBy(node), 0),
      blocks: root['Shared Hit Blocks'] + root['Shared Read Blocks'],
      plan: describe(root),
    }
  } finally {
    await client.query('rollback')
    client.release()
  }
}

function visitedBy(node: PlanNode): number {
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)
  return Math.round((node['Actual Rows'] + removed) * node['Actual Loops'])
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)]
}

function describe(node: PlanNode, depth = 0): string {
  const on = node['Index Name'] ?? node['Relation Name'] ?? ''
  const line = `${'  '.repeat(depth)}${node['Node Type']} ${on} visited ${visitedBy(node)}`
  return [line, ...(node.Plans ?? []).map((child) => describe(child, depth + 1))].join('\n')
}
