import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { ArchiveError } from '../../store/archive/archive-format.ts'
import { syncFolder } from '../sync-folder.ts'
import { CliError } from '../terminal.ts'
import { AGE_HEAD, chooseDecryption, type Encrypt } from './encryption.ts'

/** Packs as tightly as twice the time would do, but for a few per cent. */
const LEVEL = 4

/**
 * Writes an archive to a new file that only this user may read. It gets its name when it is durable, so that what an interrupted
 * export leaves (`<file>.part`) is not taken for an archive.
 * @throws CliError; ENOSPC and the like
 */
export async function writeArchiveFile(
  path: string,
  lines: AsyncIterable<Uint8Array>,
  encrypt: Encrypt | undefined,
): Promise<void> {
  const part = `${path}.part`
  refuseExisting(path, 'name a new file')
  refuseExisting(part, 'another export is writing it, or did not finish: delete it in that case')
  const file = await open(part, 'wx', 0o600)
  try {
    const packed = createGzip({ level: LEVEL })
    const packing = pipeline(Readable.from(lines, { objectMode: true }), packed)
    // Its failure also fails what reads from it.
    packing.catch(() => undefined)
    const out = encrypt === undefined ? packed : await encrypt(packed)
    await pipeline(out, createWriteStream(part, { fd: file.fd, autoClose: false }))
    await packing
    await file.sync()
    await file.close()
    await rename(part, path)
    await syncFolder(dirname(path))
  } catch (error) {
    await file.close().catch(() => undefined)
    await rm(part, { force: true })
    throw error
  }
}

function refuseExisting(path: string, advice: string): void {
  if (existsSync(path)) throw new CliError('file_exists', `${path} exists; ${advice}.`)
}

/** A file that is read as an archive, as often as asked. */
export interface ArchiveFile {
  encrypted: boolean
  /** Returns its bytes, decrypted and unpacked. Reading them throws ArchiveError where the file is damaged. */
  read(): Promise<AsyncIterable<Uint8Array>>
}

/** More than the head of an encrypted archive for a dozen recipients. */
const HEAD_BYTES = 16_384

/** Opens an archive. @param identity see `chooseDecryption` @throws ArchiveError, CliError */
export async function openArchiveFile(path: string, identity: string | undefined): Promise<ArchiveFile> {
  const head = await readHead(path)
  const encrypted = head.startsWith(AGE_HEAD)
  if (!encrypted && !head.startsWith('\x1f\x8b'))
    throw new ArchiveError('it is not an archive of Countersign')
  const decrypt = encrypted ? await chooseDecryption(identity, head) : undefined
  return {
    encrypted,
    async read() {
      const stored = createReadStream(path)
      return unpack(decrypt === undefined ? stored : await decrypt(stored))
    },
  }
}

async function readHead(path: string): Promise<string> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    return buffer.toString('latin1', 0, bytesRead)
  } finally {
    await file.close()
  }
}

async function* unpack(packed: Readable): AsyncGenerator<Uint8Array> {
  const plain = createGunzip({ chunkSize: 256 * 1024 })
  const feeding = pipeline(packed, plain)
  feeding.catch(() => undefined)
  try {
    yield* plain
    await feeding
  } catch (error) {
    throw damageOf(error)
  } finally {
    plain.destroy()
    packed.destroy()
  }
}

/** Words what unpacking and decrypting throw; an error of the disk stays as it is. */
function damageOf(cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause
  const code = 'code' in cause ? String(cause.code) : ''
  if (code === 'Z_BUF_ERROR') return new ArchiveError('it is cut short', { cause })
  if (code === '' || code.startsWith('Z_')) return new ArchiveError('it is damaged', { cause })
  return cause
}
