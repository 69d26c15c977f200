import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { copyFile, mkdir, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { packagePath } from '../../src/config/package-path.ts'

const FILES = ['package.json', 'package-lock.json'] as const
const INSTALL_MS = 300_000

/**
 * Installs the packages that `examples/agents/package-lock.json` names in a folder of the user's cache: 750 MB, of which 400 are
 * the program of the Claude Agent SDK. No part of the project depends on them.
 * @returns the folder, or undefined where npm cannot install them
 */
export async function agentPackages(): Promise<string | undefined> {
  const lock = readFileSync(packagePath('examples/agents/package-lock.json'))
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'countersign')
  const folder = join(cache, `agents-${createHash('sha256').update(lock).digest('hex').slice(0, 12)}`)
  const partly = `${folder}.part`
  await mkdir(cache, { recursive: true })
  while (!existsSync(folder)) {
    // This folder is the lock: of several test files one installs.
    const mine = await mkdir(partly).then(
      () => true,
      () => false,
    )
    if (mine) {
      if (!existsSync(folder) && !(await install(partly, folder))) return undefined
    } else {
      // Whoever made it may have been killed.
      const { mtimeMs } = await stat(partly).catch(() => ({ mtimeMs: Date.now() }))
      if (Date.now() - mtimeMs > INSTALL_MS) await rm(partly, { recursive: true, force: true })
      await setTimeout(250)
    }
  }
  return folder
}

async function install(partly: string, folder: string): Promise<boolean> {
  try {
    for (const name of FILES) await copyFile(packagePath(`examples/agents/${name}`), join(partly, name))
    const flags = [
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--fetch-retries=1',
      '--fetch-retry-mintimeout=1000',
    ]
    const npm = spawn('npm', ['ci', ...flags], { cwd: partly, stdio: 'ignore', timeout: INSTALL_MS })
    const [code] = await once(npm, 'close')
    if (code === 0) await rename(partly, folder)
    return code === 0
  } finally {
    await rm(partly, { recursive: true, force: true })
  }
}
