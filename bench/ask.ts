/** Sends an operation to a server and returns the data of its answer. */
export async function ask(url: string, query: string, variables: object = {}): Promise<any> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  })
  const { data, errors } = (await response.json()) as { data: any; errors?: unknown }
  if (errors) throw new Error(JSON.stringify(errors))
  return data
}
