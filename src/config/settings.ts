import { logLevels } from '../util/log.ts'
import {
  bytes,
  choice,
  duration,
  file,
  flag,
  headers,
  integer,
  kept,
  limit,
  optional,
  origins,
  path,
  publicKey,
  publicUrl,
  secret,
  secretKeys,
  text,
  url,
  webUrl,
} from './kinds.ts'
import { mcpFile } from './mcp-file.ts'
import { providersFile } from './providers-file.ts'
import { retentionFile } from './retention-file.ts'
import { trustedDocumentsFile } from './trusted-documents-file.ts'

const hourMs = 3_600_000
const claim = (name: string) => optional(text(`what tokens must have in \`${name}\``, /^\S+$/, 'a text without spaces'))

/**
 * Every environment variable that the server reads, by chapters of the documentation. The type `Config`, the checks at
 * the start, `--help` and docs/configuration.md come from this table.
 */
export const chapters = {
  'The server': {
    PORT: integer('port of the API; 0 takes a free port', 0, 65_535, 4000),
    HOST: text('address that the API listens on', /^[\w.:-]+$/, 'an IP address or a host name', '127.0.0.1'),
    HOLDPOINT_PUBLIC_URL: optional(
      publicUrl('address under which people reach this server, in decision links and webhooks; it may have a path'),
      'no decision links',
    ),
    HOLDPOINT_HEALTH_PORT: optional(
      integer('another port for /healthz, /readyz and /metrics, without a key; 0 takes a free port', 0, 65_535),
    ),
    HOLDPOINT_DRAIN_MS: integer('how long running steps may take to finish at a shutdown', 0, hourMs, 60_000),
    LOG_LEVEL: choice(logLevels.join(', '), logLevels, 'info'),
  },
  'The database, and several processes': {
    DATABASE_URL: optional(url('a Postgres 14 or later', ['postgres:', 'postgresql:']), 'an embedded Postgres'),
    DATABASE_DIRECT_URL: optional(
      url('the same database without a pooler, if DATABASE_URL leads to one in transaction mode', [
        'postgres:',
        'postgresql:',
      ]),
      'DATABASE_URL',
    ),
    HOLDPOINT_POOL: integer('connections of one process for statements; it opens up to 3 more', 2, 1_000, 20),
    HOLDPOINT_DATA_DIR: path('folder of the embedded Postgres', '.holdpoint'),
    REDIS_URL: optional(
      url('a Redis that carries live text between processes; needs the package `redis`', ['redis:', 'rediss:']),
      'Postgres does it',
    ),
  },
  Runs: {
    HOLDPOINT_WORKERS: integer('runs driven at the same time by this process; 0: API only', 0, 10_000, 64),
    HOLDPOINT_TENANT_RUNS: limit('runs of one tenant driven at the same time by all processes'),
    HOLDPOINT_AGENT_RUNS: limit('runs of one agent driven at the same time by all processes'),
    HOLDPOINT_KEY_RUNS: limit('runs of one key or person driven at the same time by all processes'),
    HOLDPOINT_MODEL_IDLE_MS: integer('how long a model may send nothing', 1, hourMs, 600_000),
    HOLDPOINT_TOOL_GRACE_MS: integer('how long a cancelled tool may keep running', 0, hourMs, 5_000),
  },
  Models: {
    OPENAI_API_KEY: optional(secret('key for the models openai/…')),
    OPENAI_BASE_URL: optional(webUrl('address of the Responses API'), "the SDK's"),
    OPENAI_CHAT_API_KEY: optional(secret('key for the models openai-chat/…'), 'OPENAI_API_KEY'),
    OPENAI_CHAT_BASE_URL: optional(webUrl('a server that speaks Chat Completions'), 'OPENAI_BASE_URL'),
    ANTHROPIC_API_KEY: optional(secret('key for the models anthropic/…')),
    ANTHROPIC_BASE_URL: optional(webUrl('address of the Messages API'), "the SDK's"),
    HOLDPOINT_PROVIDERS: file('named model endpoints', providersFile, []),
  },
  Tools: {
    HOLDPOINT_TOOLS: optional(path('a module, or a folder of modules, with tools in code')),
    HOLDPOINT_MCP: file('MCP servers, including programs on this machine', mcpFile, []),
    HOLDPOINT_ALLOW_PRIVATE_NETWORK: flag('1 lets HTTP and MCP tools and webhooks reach private addresses', '0'),
  },
  'Keys and secrets': {
    HOLDPOINT_API_KEY: optional(secret('a key with every scope; without any key the server listens on loopback only')),
    HOLDPOINT_SECRET_KEY: secretKeys('encrypts stored secrets; several, separated by commas: the first one encrypts'),
  },
  'Tokens of your own identity provider': {
    HOLDPOINT_JWT_SECRET: optional(secret('secret that signs the tokens (HS256, HS384, HS512)')),
    HOLDPOINT_JWT_PUBLIC_KEY: optional(publicKey('public key of the tokens, as PEM')),
    HOLDPOINT_JWKS_URL: optional(webUrl('address of the public keys (JWKS)')),
    HOLDPOINT_JWT_ISSUER: claim('iss'),
    HOLDPOINT_JWT_AUDIENCE: claim('aud'),
  },
  'What clients may do': {
    HOLDPOINT_ALLOWED_ORIGINS: origins('other sites whose pages may use the API, separated by commas'),
    HOLDPOINT_CONSOLE: flag('0 turns the web console off', '1'),
    HOLDPOINT_GRAPHIQL: flag('0 turns GraphiQL off', '1'),
    HOLDPOINT_INTROSPECTION: flag('0 hides the schema from clients', '1'),
    HOLDPOINT_SUBGRAPH: flag('1 serves the API as a subgraph of Apollo Federation', '0'),
    HOLDPOINT_TRUSTED_DOCUMENTS: file(
      'the only GraphQL documents that clients may use; GraphiQL is then off',
      trustedDocumentsFile,
      undefined,
    ),
  },
  'Limits of requests and files': {
    HOLDPOINT_KEY_REQUESTS: limit('requests per second of one key, per process', 1_000),
    HOLDPOINT_KEY_SOCKETS: integer('open WebSockets of one key, per process', 1, 1_000_000, 2_000),
    HOLDPOINT_KEY_SUBSCRIPTIONS: integer('open subscriptions of one key, per process', 1, 1_000_000, 10_000),
    HOLDPOINT_TENANT_REQUESTS: limit('requests per second of all keys of one tenant, per process'),
    HOLDPOINT_MAX_BODY: bytes('largest request body and WebSocket frame', '100mb', '10mb'),
    HOLDPOINT_MAX_FILE: bytes('largest image or document that is stored', '100mb', '10mb'),
    HOLDPOINT_TENANT_STORAGE: optional(
      bytes('all images, documents and archives that one tenant may store together, such as 20gb', '1000000gb'),
    ),
  },
  'What is deleted when it is old': {
    HOLDPOINT_KEEP_LOGS: kept('how long the streams of ended runs can be replayed'),
    HOLDPOINT_KEEP_RUNS: kept('how long ended runs and their messages are kept once they have left the context'),
    HOLDPOINT_KEEP_ARCHIVED: kept('how long archived conversations are kept'),
    HOLDPOINT_KEEP_AUDIT: kept('how long the audit log is kept'),
    HOLDPOINT_RETENTION: file('other times for single tenants and agents', retentionFile, {}),
    HOLDPOINT_KEEP_REQUESTS: duration(
      'how long `Step.request` and `Step.response` are kept, for agents that ask for it; 0: never',
      '7d',
    ),
    HOLDPOINT_KEEP_DELIVERIES: duration('how long deliveries of webhooks are kept once they have ended', '30d'),
  },
  'Traces and metrics': {
    OTEL_EXPORTER_OTLP_ENDPOINT: optional(webUrl('where traces and metrics go, by OTLP over HTTP')),
    OTEL_EXPORTER_OTLP_HEADERS: headers('headers for it, such as authorization=Bearer%20x, separated by commas'),
    OTEL_SERVICE_NAME: text(
      'name of this service in traces and metrics',
      /^[\x20-\x7e]{1,200}$/,
      'at most 200 plain characters',
      'holdpoint',
    ),
    HOLDPOINT_TRACE_CONTENTS: flag('1 lets traces show prompts, answers, tool arguments and results', '0'),
  },
}

type Chapter = (typeof chapters)[keyof typeof chapters]
type AllOf<Some> = (Some extends unknown ? (some: Some) => void : never) extends (all: infer All) => void ? All : never

/** The settings of all chapters. */
export const settings = Object.assign({}, ...Object.values(chapters)) as AllOf<Chapter>
