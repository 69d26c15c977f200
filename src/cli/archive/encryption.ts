import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { Decrypter, Encrypter } from 'age-encryption'
import { ArchiveError } from '../../store/archive/archive-format.ts'
import { CliError, terminal, usageError } from '../terminal.ts'

/** The first line of a file in the age format (age-encryption.org/v1). */
export const AGE_HEAD = 'age-encryption.org/v1\n'

/** 2^16: 64 MiB for a moment. The 256 MiB of age's own default would be more than all else an archive takes. */
const SCRYPT_LOG_N = 16
const SHORTEST_PASSPHRASE = 12

/** Encrypts a stream. */
export type Encrypt = (plain: Readable) => Promise<Readable>

export interface EncryptOptions {
  encrypt?: boolean
  recipient?: string[]
}

/** Returns what encrypts as the options say; undefined if they do not ask for it. @throws CliError */
export async function chooseEncryption({
  encrypt,
  recipient = [],
}: EncryptOptions): Promise<Encrypt | undefined> {
  if (!encrypt && recipient.length === 0) return undefined
  if (encrypt && recipient.length > 0)
    throw usageError('Name either --encrypt, for a passphrase, or --recipient, for the owner of a key.')
  const encrypter = new Encrypter()
  for (const name of recipient) addRecipient(encrypter, name)
  if (encrypt) {
    const passphrase = await readPassphrase({ twice: true })
    if (passphrase.length < SHORTEST_PASSPHRASE)
      throw usageError(`The passphrase must have ${SHORTEST_PASSPHRASE} characters or more.`)
    encrypter.setPassphrase(passphrase)
    encrypter.setScryptWorkFactor(SCRYPT_LOG_N)
  }
  return async (plain) => toNode(await encrypter.encrypt(toWeb(plain)))
}

function addRecipient(encrypter: Encrypter, name: string): void {
  try {
    encrypter.addRecipient(name)
  } catch {
    throw usageError(`${JSON.stringify(name)} is not a recipient of age; those begin with age1.`)
  }
}

/**
 * Makes a function that decrypts a stream, as often as needed: what opens it is asked for at the first one.
 * @param identity a file with keys of age, as `age-keygen` writes it
 * @throws CliError, ArchiveError
 */
export async function chooseDecryption(identity: string | undefined, head: string): Promise<Encrypt> {
  const decrypter = new Decrypter()
  const byPassphrase = /^-> scrypt /m.test(head)
  if (byPassphrase) decrypter.addPassphrase(await readPassphrase({ twice: false }))
  else if (identity === undefined)
    throw new CliError(
      'identity_missing',
      'The archive is encrypted for the owner of a key: name the file with that key: --identity <file>',
    )
  else for (const key of await readIdentities(identity)) addIdentity(decrypter, key, identity)
  return async (sealed) => {
    try {
      return toNode(await decrypter.decrypt(toWeb(sealed)))
    } catch (error) {
      sealed.destroy()
      if (error instanceof Error && /no identity matched/.test(error.message))
        throw new CliError(
          'archive_locked',
          byPassphrase ? WRONG_PASSPHRASE : 'The key does not open this archive.',
        )
      throw new ArchiveError(`it is damaged: its head cannot be decrypted`, { cause: error })
    }
  }
}

const WRONG_PASSPHRASE = 'The passphrase does not open this archive.'

async function readIdentities(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8')
  const keys = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.startsWith('#'))
  if (keys.length === 0) throw usageError(`${path} contains no key.`)
  return keys
}

function addIdentity(decrypter: Decrypter, key: string, path: string): void {
  try {
    decrypter.addIdentity(key.trim())
  } catch {
    throw usageError(`${path} contains a line that is not a key of age; those begin with AGE-SECRET-KEY-.`)
  }
}

function toWeb(stream: Readable): ReadableStream<Uint8Array> {
  return Readable.toWeb(stream)
}

function toNode(stream: globalThis.ReadableStream<Uint8Array>): Readable {
  return Readable.fromWeb(stream)
}

/**
 * Reads a passphrase: on a terminal it is asked for and not shown; otherwise it is the first line of stdin.
 * @param twice asks again, since one with a slip would open nothing
 * @throws CliError
 */
async function readPassphrase({ twice }: { twice: boolean }): Promise<string> {
  const given = process.stdin.isTTY && terminal().stdin === process.stdin
  const passphrase = given ? await ask('Passphrase: ') : await firstLine()
  if (passphrase === '')
    throw usageError('The passphrase is empty; without a terminal it is the first line of stdin.')
  if (given && twice && (await ask('The same again: ')) !== passphrase)
    throw usageError('The two passphrases differ.')
  return passphrase
}

async function firstLine(): Promise<string> {
  let text = ''
  for await (const chunk of terminal().stdin) {
    text += Buffer.from(chunk).toString('utf8')
    if (text.includes('\n')) break
  }
  return text.split(/\r?\n/)[0] ?? ''
}

/** Asks on stderr, so that stdout holds only the answer of the command. What is typed is not shown. */
function ask(question: string): Promise<string> {
  const { stdin, stderr } = process
  stderr.write(question)
  const lines = createInterface({ input: stdin, terminal: true })
  return new Promise((done, fail) => {
    lines.once('SIGINT', () => {
      lines.close()
      stderr.write('\n')
      fail(usageError('No passphrase was given.'))
    })
    lines.once('line', (line) => {
      lines.close()
      stderr.write('\n')
      done(line)
    })
  })
}
