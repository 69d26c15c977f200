import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { packagePath } from '../../src/config/package-path.ts'

/** A folder with a copy of deploy/new-env.sh, so that no test writes the .env of this checkout. */
export async function useProject(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-project-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await fillProject(folder)
  return folder
}

/** Puts a copy of deploy/new-env.sh into a folder. */
export async function fillProject(folder: string): Promise<void> {
  await mkdir(join(folder, 'deploy'))
  await cp(packagePath('deploy/new-env.sh'), join(folder, 'deploy/new-env.sh'))
}

/** Runs deploy/new-env.sh of that folder. */
export function newEnv(
  folder: string,
  ...args: string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { PATH: process.env.PATH ?? '' }
  return new Promise((resolve) => {
    execFile('sh', ['deploy/new-env.sh', ...args], { cwd: folder, env }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    )
  })
}
