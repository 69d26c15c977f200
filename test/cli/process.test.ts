import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cliProcess, useDataDir } from '../support/cli.ts'

describe('the command line as a process', () => {
  it('ends with 0 and the answer on stdout', async () => {
    const { env, folder } = await useDataDir()
    const run = await cliProcess(['user', 'invite', 'ada@example.com', '--json'], { env, cwd: folder })
    expect([run.code, run.stderr]).toEqual([0, ''])
    expect(run.json()).toMatchObject({ user_id: expect.stringMatching(/^usr_/) })
  })

  it('ends with 1 and the error on stderr', async () => {
    const { env, folder } = await useDataDir()
    const run = await cliProcess(['user', 'list', '--json'], { env, cwd: folder })
    expect([run.code, run.stdout, run.error().error]).toEqual([1, '', 'no_store'])
  })

  it('ends with 2 where it was called wrongly, and reads stdin to its end', async () => {
    const { folder } = await useDataDir()
    const run = await cliProcess(['verify', '-', '--jwks', 'keys.json', '--json'], {
      cwd: folder,
      stdin: '{}',
    })
    expect([run.code, run.stdout, run.error().error]).toEqual([2, '', 'usage'])
  })

  it('reads .env in its folder, and what is set wins', async () => {
    const { folder } = await useDataDir()
    await writeFile(join(folder, '.env'), 'PORT=x\nDATA_DIR=here\n')
    const both = await cliProcess(['user', 'list', '--json'], { cwd: folder })
    expect(both.error().message).toContain('PORT: must be a port number')
    const set = await cliProcess(['user', 'list', '--json'], { cwd: folder, env: { PORT: '3000' } })
    expect(set.error().message).toContain(`There is no store in ${join(folder, 'here')}.`)
  })

  it('says that a folder named .env, which containers make for a missing file, holds no settings', async () => {
    const { folder } = await useDataDir()
    await mkdir(join(folder, '.env'))
    const run = await cliProcess(['user', 'list', '--json'], { cwd: folder })
    expect(run.error()).toEqual({
      error: 'config_invalid',
      message: expect.stringMatching(/- \.env: is a folder; make it a file that this user may read, or /),
    })
    const doctor = await cliProcess(['doctor'], { cwd: folder })
    expect([doctor.code, doctor.stdout]).toEqual([
      1,
      expect.stringMatching(
        /FAIL {2}Configuration {3}\.env: is a folder\n +make it a file that this user may read, or remove it\.\n/,
      ),
    ])
  })
})
