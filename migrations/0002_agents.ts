import { sql, type Kysely } from 'kysely'

/** Agents and their tools: settings that rarely change. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table agents (
      id uuid primary key,
      tenant_id uuid not null references tenants on delete cascade,
      -- The client's own key, given to upsertAgent.
      key text,
      name text not null,
      description text,
      instructions text not null,
      model text not null,
      model_settings jsonb not null,
      tool_rules jsonb not null,
      compaction jsonb not null,
      tags text[] not null,
      metadata jsonb not null,
      timezone text not null,
      keep_requests boolean not null default false,
      tell_times boolean not null default false,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      -- From then on nobody sees the agent, and its rows are deleted in the background.
      deleted_at timestamptz(3),
      unique (tenant_id, key)
    )`.execute(db)
  await sql`create index agents_tenant on agents (tenant_id, id)`.execute(db)
  await sql`create index agents_deleted on agents (id) where deleted_at is not null`.execute(db)

  await sql`
    create table mcp_servers (
      id uuid primary key,
      tenant_id uuid not null references tenants on delete cascade,
      name text not null,
      url text not null,
      headers jsonb not null,
      last_error text,
      -- Whether its tools require approval when they are first listed.
      requires_approval boolean not null default false,
      -- It comes from the configuration file.
      configured boolean not null default false,
      created_at timestamptz(3) not null,
      unique (tenant_id, name)
    )`.execute(db)

  await sql`
    create table tools (
      id uuid primary key,
      tenant_id uuid not null references tenants on delete cascade,
      name text not null,
      description text not null,
      kind text not null check (kind in ('BUILTIN', 'JAVASCRIPT', 'HTTP', 'MCP', 'CLIENT')),
      parameters jsonb not null,
      requires_approval boolean not null,
      approval_condition jsonb,
      approvals_required integer not null default 1 check (approvals_required > 0),
      approval_excludes_sender boolean not null default false,
      approval_timeout_ms integer check (approval_timeout_ms > 0),
      parallel boolean not null,
      idempotent boolean not null,
      return_char_limit integer not null check (return_char_limit > 0),
      timeout_ms integer not null check (timeout_ms > 0),
      tags text[] not null,
      source text check ((source is not null) = (kind = 'JAVASCRIPT')),
      url text check ((url is not null) = (kind = 'HTTP')),
      headers jsonb check ((headers is not null) = (kind = 'HTTP')),
      mcp_server_id uuid references mcp_servers on delete cascade
        check ((mcp_server_id is not null) = (kind = 'MCP')),
      mcp_tool_name text check ((mcp_tool_name is not null) = (kind = 'MCP')),
      is_available boolean not null default true,
      code_settings jsonb check (code_settings is null or kind = 'BUILTIN'),
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      unique (tenant_id, name)
    )`.execute(db)
  await sql`create index tools_tenant on tools (tenant_id, id)`.execute(db)
  await sql`create index tools_mcp_server on tools (mcp_server_id) where mcp_server_id is not null`.execute(db)

  await sql`
    create table agent_tools (
      id uuid primary key,
      agent_id uuid not null references agents on delete cascade,
      tool_id uuid not null references tools on delete cascade,
      approval_override boolean,
      ordinal bigint generated always as identity,
      unique (agent_id, tool_id)
    )`.execute(db)
  await sql`create index agent_tools_tool on agent_tools (tool_id)`.execute(db)
}
