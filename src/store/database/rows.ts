/** The row of a statement that always has one. */
export function onlyRow<Row>({ rows }: { readonly rows: readonly Row[] }): Row {
  const [row] = rows
  if (row === undefined) throw new Error('A statement that always returns a row has returned none.')
  return row
}
