import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

import { expect, test } from 'vitest'

import { lines } from '../../scripts/demo-model.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

const script = fileURLToPath(new URL('../../scripts/demo.ts', import.meta.url))

test(
  '[DEM1] the demo without a terminal shows every scene, and leaves nothing behind',
  { timeout: 180_000 },
  async () => {
    const folder = await makeTemporaryFolder()
    const child = spawn(process.execPath, [script], {
      env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], TMPDIR: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [shown, complained, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
    expect(complained).toBe('')
    expect(code).toBe(0)
    // eslint-disable-next-line no-control-regex
    expect(shown).not.toMatch(/\u001b/)
    expect(shown.match(/^\d\. .*?(?=  )/gm)).toEqual([
      '1. An answer, as it is written',
      '2. A mail waits for your approval',
      '3. A mail is denied, and Ada reads why',
      '4. A mail is corrected, then approved',
      '5. A tool that only your program can run',
      '6. A story is cancelled in mid-sentence, and what was said stays',
      '7. The connection breaks in mid-word, and nothing is missed',
      '8. kill -9, and another worker goes on',
    ])

    expect(shown).toContain('approve? [y/n/edit] y\n        ✓ send_mail: sent "The report is ready."')
    expect(shown).toContain('You said: Never write to everyone.')
    expect(shown).toContain('✓ send_mail: sent "Please send the numbers."')
    expect(shown).not.toContain('sent "pls')
    expect(shown).toContain('Your clipboard holds a shopping list.')
    expect(shown).toContain('■ cancelled\n        ✓ stored')
    expect(shown).not.toContain('all the time in the world')
    expect(shown).toMatch(/\w⟨disconnected⟩⟨back⟩\w/)
    expect(shown).toMatch(/⟨kill -9 \d+⟩/)

    // Without the remarks, each answer appears once, as if nothing had happened.
    const said = shown.replaceAll(/⟨.*?⟩/g, '').replaceAll(/\n {8}/g, '\n')
    expect(said).toContain(`${lines['What happens if my train enters a tunnel?'].say}\n✓ stored`)
    expect(said).toContain(`${lines['And if your worker process is killed?'].say}\n✓ stored`)

    for (const pid of /workers: (\d+) and (\d+)/.exec(shown)!.slice(1)) {
      expect(() => process.kill(Number(pid), 0)).toThrow('ESRCH')
    }
    expect(await readdir(folder)).toEqual([])
  },
)
