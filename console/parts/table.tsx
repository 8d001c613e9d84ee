import type { ReactNode } from 'react'

interface Column<Row> {
  /** Empty for a column of buttons. */
  readonly head: string
  readonly cell: (row: Row) => ReactNode
  readonly className?: string
}

interface TableProps<Row> {
  readonly label: string
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row>[]
  /** Makes whole rows clickable. What is done must be possible with a link or button in the row too. */
  readonly onOpen?: (row: Row) => void
  readonly className?: string
  /** Shown below the head if there are no rows. */
  readonly empty?: ReactNode
}

/** A table that scrolls sideways if it has to. */
export function Table<Row extends { readonly id: string }>(props: TableProps<Row>): ReactNode {
  const { label, rows, columns, onOpen, className = '', empty } = props
  return (
    <div className={`data ${className}`} tabIndex={0} role="group" aria-label={`List: ${label}`}>
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.head} scope="col" className={column.className}>
                {column.head || <span className="unseen">Actions</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr
              key={row.id}
              className={onOpen && 'link-row'}
              onClick={(event) => !(event.target as Element).closest('a, button') && onOpen?.(row)}
            >
              {columns.map((column) => (
                <td key={column.head} className={column.className}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && empty}
    </div>
  )
}
