import type { AuditEntry as DomainAuditEntry } from '../../domain/access/audit.ts'
import { listAuditEntriesPage } from '../../store/access/audit-entries.ts'
import { Actor } from './actor.ts'
import { builder, orNull } from '../builder.ts'
import { connectionType, listArguments, pageComplexity } from '../connection.ts'
import { loadNode, Node } from '../node.ts'

const AuditEntry = builder.objectRef<DomainAuditEntry>('AuditEntry')
AuditEntry.implement({
  description: 'One recorded change. Entries are never edited; only retention deletes them.',
  interfaces: [Node],
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'When the change was made.' }),
    actor: t.expose(
      'actor',
      orNull(
        'Who made the change. Null for the server itself, such as an expired approval, and for the command line.',
        Actor,
      ),
    ),
    action: t.exposeString('action', { description: 'Name of the mutation, such as `updateAgent`.' }),
    subjectId: t.exposeID('subjectId', {
      description: 'Id of the object that was changed, also after it was deleted.',
    }),
    subject: t.field({
      ...orNull('Object that was changed. Null if it no longer exists.', Node),
      resolve: ({ subjectId }, _args, context) => loadNode(context, subjectId),
    }),
    before: t.expose(
      'before',
      orNull('Affected settings before the change, without secrets. Null if there were none.', 'JSON'),
    ),
    after: t.expose(
      'after',
      orNull('Affected settings after the change, without secrets. Null if there are none.', 'JSON'),
    ),
  }),
})

const AuditLogFilter = builder.inputType('AuditLogFilter', {
  description: 'Which recorded changes to list. Omitted fields do not filter; all given fields must match.',
  fields: (t) => ({
    subjectId: t.id({ description: 'Changes of the object with this id.' }),
    actorId: t.id({ description: 'Changes by the actor with this id.' }),
    actions: t.stringList({ description: 'Changes by one of these mutations, such as `updateAgent`.' }),
    since: t.field({ type: 'DateTime', description: 'Changes at or after this time.' }),
    until: t.field({ type: 'DateTime', description: 'Changes before this time.' }),
  }),
})

builder.queryField('auditLog', (t) =>
  t.field({
    type: connectionType('AuditEntry', AuditEntry),
    description: 'Recorded changes, newest first. Requires the MANAGE scope.',
    args: listArguments(AuditLogFilter, 'changes'),
    complexity: pageComplexity,
    resolve: (_root, { filter, ...page }, { db, viewer }) =>
      listAuditEntriesPage(db, viewer, { filter: filter ?? {}, page }),
  }),
)
