import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { packagePath } from '../src/config/package-path.ts'
import { useDataDir } from './support/cli.ts'

/** Puts the built service together as `compose` does, and lists the chat libraries that came along. */
const SCRIPT = `
import { createRequire } from 'node:module'
const load = (path) => import(new URL(path, 'file://' + process.cwd() + '/dist/src/'))
const { compose } = await load('compose/compose.js')
const { loadConfig } = await load('config/config.js')
await load('cli/run-cli.js')
const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const composition = await compose(loadConfig(), { log: quiet })
await composition.close()
const paths = Object.keys(createRequire(import.meta.url).cache)
const names = paths.flatMap((path) => /node_modules.(@slack.[\\w-]+|botbuilder)/.exec(path)?.[1] ?? [])
process.stdout.write(JSON.stringify([...new Set(names)]))
`

async function librariesWith(settings: Record<string, string>): Promise<string[]> {
  const { env, folder } = await useDataDir()
  const script = join(folder, 'compose.mjs')
  await writeFile(script, SCRIPT)
  const { stdout } = await promisify(execFile)(process.execPath, [script], {
    cwd: packagePath('.'),
    env: { PATH: process.env.PATH, ...env, ...settings },
  })
  return JSON.parse(stdout)
}

it('loads a chat platform’s libraries only where it is set up', async () => {
  expect(await librariesWith({})).toEqual([])
  const slack = await librariesWith({ SLACK_BOT_TOKEN: 'xoxb-1', SLACK_SIGNING_SECRET: 'secret' })
  expect(slack).toContain('@slack/bolt')
  expect(slack).not.toContain('botbuilder')
})
