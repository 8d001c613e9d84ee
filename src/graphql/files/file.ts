import { uploadFile } from '../../commands/files/store-files.ts'
import { checkedUpload } from '../../domain/conversations/content-input.ts'
import { encodeFileId } from '../../domain/ids.ts'
import { Conversation } from '../conversations/conversation.ts'
import { id, implement, int, string, time } from '../fields.ts'
import { linkTo } from '../load-existing.ts'
import { mutation, payload } from '../mutation.ts'
import { Node, requireUuid } from '../node.ts'
import { File } from '../refs.ts'

implement(File, {
  description:
    'A stored file: uploaded, sent as a large data URL, or returned by a tool. It is deleted with its conversation.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({ description: 'Globally unique and permanent. Begins with file_.', resolve: encodeFileId }),
    name: string.orNull('File name. Null if none was given.'),
    mediaType: string('Media type, such as image/png.'),
    sizeBytes: int('Size in bytes.'),
    url: t.string({
      description: 'Path to download the file with the same credentials: `/files/` and the id.',
      resolve: (file) => `/files/${encodeFileId(file)}`,
    }),
    conversation: linkTo(
      Conversation,
      'conversationId',
      'Conversation that the file belongs to. Whoever may read the conversation may download the file.',
    ),
    createdAt: time('When the file was stored.'),
  }),
})

mutation('uploadFile', {
  description: 'Stores a file for use in messages and client tool results.',
  input: {
    description: 'A file to store.',
    fields: {
      conversationId: id.required('Id of the conversation that the file is for.'),
      dataUrl: string.required(
        'Content as a base64 data URL with its media type. The request is limited by HOLDPOINT_MAX_BODY, 10 MB by default.',
      ),
      name: string('File name, 1 to 200 characters.'),
    },
  },
  result: payload('file', File, 'The stored file.'),
  resolve: (input, context) =>
    uploadFile(context, context.viewer, {
      conversationId: requireUuid('Conversation', input.conversationId),
      file: checkedUpload(input.dataUrl, input.name),
    }),
})
