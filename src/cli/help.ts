const commands = [
  ['serve', 'the API and the workers in one process (the default)'],
  ['worker', 'workers alone, beside a server on the same database'],
  ['migrate', 'bring the database up to date, then exit'],
  ['keys create | list | revoke', 'manage API keys (not in this version)'],
  ['signing-secret [--tenant N]', 'print what calls of HTTP tools are signed with'],
] as const

const variables = [
  ['PORT', 'where the API listens', '4000'],
  ['HOST', '', '127.0.0.1'],
  ['DATABASE_URL', 'a Postgres 14 or later', 'an embedded Postgres'],
  ['HOLDPOINT_DATA_DIR', "the embedded database's folder", '.holdpoint'],
  ['REDIS_URL', 'a bus for live text (not in this version)', 'Postgres does it'],
  ['HOLDPOINT_WORKERS', 'runs driven at the same time; 0: API only', '64'],
  ['HOLDPOINT_API_KEY', 'a key with every scope, made at start', 'unset'],
  ['HOLDPOINT_ALLOWED_ORIGINS', 'other sites whose pages may use the API', 'none'],
  ['OPENAI_API_KEY', 'for openai/<model>', 'unset'],
  ['OPENAI_BASE_URL', '', "the SDK's"],
  ['OPENAI_CHAT_API_KEY', 'for openai-chat/<model>, Chat Completions', 'as OPENAI_API_KEY'],
  ['OPENAI_CHAT_BASE_URL', '', 'as OPENAI_BASE_URL'],
  ['ANTHROPIC_API_KEY', 'for anthropic/<model>', 'unset'],
  ['ANTHROPIC_BASE_URL', '', "the SDK's"],
  ['HOLDPOINT_ALLOW_PRIVATE_NETWORK', '1: tools may reach private addresses', 'unset'],
  ['HOLDPOINT_TOOLS', 'a module or folder with tools in code', 'none'],
  ['HOLDPOINT_TOOL_GRACE_MS', 'how long a cancelled tool may take to end', '5000'],
  ['HOLDPOINT_MODEL_IDLE_MS', 'how long a model may be silent', '600000'],
  ['HOLDPOINT_DRAIN_MS', 'how long running steps may take at a stop', '10000'],
  ['LOG_LEVEL', 'trace, debug, info, warn, error, fatal, silent', 'info'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'where traces go (not in this version)', 'none'],
] as const

export function helpText(version: string): string {
  const commandLines = commands.map(([name, meaning]) => `  ${name.padEnd(29)}${meaning}`)
  const variableLines = variables.map(([name, meaning, initial]) =>
    `  ${name.padEnd(33)}${meaning.padEnd(48)}${initial}`.trimEnd(),
  )
  return `Holdpoint ${version}: a self-hosted agent server whose one interface is GraphQL.

Usage
  npm start -- [command] [--help] [--version]

Commands
${commandLines.join('\n')}

Environment                        meaning                                         default
${variableLines.join('\n')}

Examples
  npm start
  PORT=8080 npm start
  DATABASE_URL=postgres://user:password@db.example.com/holdpoint npm start -- migrate
  HOLDPOINT_WORKERS=0 npm start          the API alone …
  npm start -- worker                    … and workers beside it, in as many processes as you like

The server prints one line when it is ready: ready http://HOST:PORT/graphql
SIGTERM and SIGINT let running steps finish, then everything stops, the embedded Postgres included.`
}
