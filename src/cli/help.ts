const commands = [
  ['serve', 'API and workers in one process (the default)'],
  ['worker', 'workers only, on the database of a server'],
  ['migrate', 'update the tables of the database, then exit'],
  ['migrate --check', 'list the updates that the tables need without making them; exits with 1 if there are any'],
  ['init [FOLDER]', 'write a project with a tool, an agent and a script; defaults to the folder agents'],
  ['keys create', 'create an API key and print its secret: --name NAME --scopes READ,RUN,APPROVE,MANAGE'],
  ['', '[--expires 2027-01-31T00:00:00Z] [--tenant NAME]'],
  ['keys list [--tenant NAME]', 'list the API keys'],
  ['keys revoke ID', 'revoke an API key [--tenant NAME]'],
  ['signing-secret [--tenant N]', 'print the secret that signs calls of HTTP tools'],
] as const

/** What `--help` shows of an environment variable. */
export interface ShownSetting {
  readonly meaning: string
  readonly shownDefault: string
}

type Chapters = Readonly<Record<string, Readonly<Record<string, ShownSetting>>>>

export function helpText(version: string, chapters: Chapters): string {
  const commandLines = commands.map(([name, meaning]) => `  ${name.padEnd(29)}${meaning}`)
  const variableLines = Object.entries(chapters).map(([chapter, settings]) => {
    const lines = Object.entries(settings).map(
      ([name, { meaning, shownDefault }]) => `  ${name.padEnd(33)}${meaning} (default: ${shownDefault})`,
    )
    return `${chapter}\n${lines.join('\n')}`
  })
  return `Holdpoint ${version}: a self-hosted agent server whose one interface is GraphQL.

Usage
  npx holdpoint [command] [--help] [--version]
  npm start -- [command] …               in a clone of the repository

Commands
${commandLines.join('\n')}

Environment variables

${variableLines.join('\n\n')}

Examples
  npx holdpoint
  PORT=8080 npx holdpoint
  DATABASE_URL=postgres://user:password@db.example.com/holdpoint npx holdpoint migrate
  HOLDPOINT_WORKERS=0 npx holdpoint      the API only
  npx holdpoint worker                   workers for that API, in as many processes as you like

The server prints one line when it is ready: ready http://HOST:PORT/graphql
SIGTERM and SIGINT let running steps finish, then stop the server and the embedded Postgres.`
}
