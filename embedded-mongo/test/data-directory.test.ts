import { mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { chooseSocketPath, prepareDataDirectory, storeFiles } from '../src/data-directory.ts'
import { StoreFileError } from '../src/engine/file-errors.ts'
import { temporaryDirectory } from './support.ts'

function useLongPath() {
  const dataDir = join(temporaryDirectory(), 'd'.repeat(90))
  onTestFinished(() => rmSync(dirname(dataDir), { recursive: true, force: true }))
  const files = storeFiles(dataDir)
  const chosen = chooseSocketPath(files)
  onTestFinished(() => rmSync(dirname(chosen.socketPath), { recursive: true, force: true }))
  return { files, chosen, directory: dirname(chosen.socketPath) }
}

it.runIf(process.platform === 'linux')('is refused where nobody can make a directory', () => {
  expect(() => prepareDataDirectory(storeFiles('/proc/none/data'))).toThrow('ENOENT')
})

describe('the socket of a directory with a long path', () => {
  it('is the same at each start, also after a kill, and another for another long path', () => {
    const { files, chosen, directory } = useLongPath()
    writeFileSync(chosen.socketPath, '')
    expect(chooseSocketPath(files)).toEqual({ ...chosen, temporary: directory })
    expect(statSync(directory).mode & 0o777).toBe(0o700)
    expect(useLongPath().chosen.socketPath).not.toBe(chosen.socketPath)
  })

  it('is refused where its place is not a directory of this user', () => {
    const { files, directory } = useLongPath()
    rmSync(directory, { recursive: true })
    mkdirSync(`${directory}-elsewhere`)
    onTestFinished(() => rmSync(`${directory}-elsewhere`, { recursive: true }))
    symlinkSync(`${directory}-elsewhere`, directory)
    expect(() => chooseSocketPath(files)).toThrow(StoreFileError)
    expect(() => chooseSocketPath(files)).toThrow(
      `${directory} is not a directory of the user that runs the store`,
    )
  })
})
