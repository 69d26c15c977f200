import { fromBase64, toBase64 } from '../base64.ts'
import { LONE_SURROGATE } from '../canonical.ts'
import { type Ed25519, publicKeyProblem, signatureHolds } from '../ed25519-web.ts'

/** The text is no signed note, verifier key or checkpoint, or a signature of a known key is wrong. The message says which. */
export class NoteError extends Error {
  override readonly name = 'NoteError'
}

/** Signature types of C2SP: Ed25519 over the text by a log, and Ed25519 with a time by a witness (tlog-cosignature). */
export const LOG_SIGNATURE = 0x01
export const COSIGNATURE = 0x04
export type NoteKeyType = typeof LOG_SIGNATURE | typeof COSIGNATURE

/** A key that verifies signatures of notes. Name and id together tell whose signature a line is. */
export interface NoteKey {
  name: string
  /** 8 hex digits: the first 4 bytes of SHA-256(name ‖ 0x0A ‖ type ‖ public key). */
  id: string
  type: NoteKeyType
  /** 32 raw bytes. */
  publicKey: Uint8Array
}

/** A line of signature: `bytes` without the key id. */
export interface NoteSignature {
  name: string
  id: string
  bytes: Uint8Array
}

export interface SignedNote {
  /** With its last newline: exactly what is signed. */
  text: string
  signatures: readonly NoteSignature[]
}

/** A signature of a known key that holds. */
export interface VerifiedSignature {
  key: NoteKey
  /** Unix seconds; of a cosignature only. */
  time?: number
}

/** The most characters of a note and its most signatures; C2SP asks for at least 16 of up to 5 kB. */
const MAX_LENGTH = 200_000
const MAX_SIGNATURES = 64

// biome-ignore lint/suspicious/noControlCharactersInRegex: C2SP signed-note forbids them by their codes.
const CONTROL = /[\u0000-\u0009\u000b-\u001f]/
const KEY_NAME = /^[^\s\u0085+]+$/u

/** Makes a key. @throws NoteError for a name with spaces or "+", or bytes that are no trustworthy Ed25519 key */
export async function noteKey(name: string, type: NoteKeyType, publicKey: Uint8Array): Promise<NoteKey> {
  if (!isKeyName(name)) throw new NoteError('a key name has no spaces, control characters or "+"')
  const problem = publicKeyProblem(publicKey)
  if (problem !== undefined) throw new NoteError(`the public key ${problem}`)
  const named = utf8(`${name}\n`)
  const digest = await crypto.subtle.digest('SHA-256', Uint8Array.of(...named, type, ...publicKey))
  return { name, id: hex(new Uint8Array(digest).subarray(0, 4)), type, publicKey }
}

/** The key as text, `name+id+base64(type ‖ public key)` (vkey). */
export function formatVkey({ name, id, type, publicKey }: NoteKey): string {
  return `${name}+${id}+${toBase64(Uint8Array.of(type, ...publicKey))}`
}

/** Reads a vkey. @throws NoteError unless it is exactly what `formatVkey` writes for its name and key */
export async function parseVkey(text: string): Promise<NoteKey> {
  const [, name = '', encoded = ''] = /^([^+]+)\+[0-9a-f]{8}\+([^\n]+)$/u.exec(text) ?? []
  const [type, ...publicKey] = decoded(encoded, 'a verifier key is <name>+<8 hex digits>+<base64>')
  if (type !== LOG_SIGNATURE && type !== COSIGNATURE)
    throw new NoteError(`keys of signature type ${type ?? 'none'} are not supported; 1 and 4 are`)
  const key = await noteKey(name, type, Uint8Array.from(publicKey))
  if (formatVkey(key) !== text)
    throw new NoteError('the id in the verifier key is not that of its name and key')
  return key
}

/** Reads a signed note (C2SP signed-note); no signature is checked yet. @throws NoteError */
export function parseNote(note: string): SignedNote {
  if (note.length > MAX_LENGTH) throw new NoteError('the note is too long')
  if (CONTROL.test(note) || LONE_SURROGATE.test(note))
    throw new NoteError('the note holds control characters')
  const split = note.lastIndexOf('\n\n')
  if (split < 1 || !note.endsWith('\n')) throw new NoteError('the note has no text or no signatures')
  const lines = note.slice(split + 2, -1).split('\n')
  if (lines.length > MAX_SIGNATURES) throw new NoteError('the note has too many signatures')
  return { text: note.slice(0, split + 1), signatures: lines.map(parseSignature) }
}

/** The inverse of `parseNote`. */
export function formatNote({ text, signatures }: SignedNote): string {
  return `${text}\n${signatures.map(signatureLine).join('')}`
}

/** A line of signature, with its newline. */
export function signatureLine({ name, id, bytes }: NoteSignature): string {
  return `— ${name} ${toBase64(Uint8Array.of(...unhex(id), ...bytes))}\n`
}

/**
 * Returns the signatures of these keys; those of other keys are ignored.
 * @param ed25519 the server has a faster one
 * @throws NoteError when the signature of one of these keys does not hold
 */
export async function verifyNote(
  note: SignedNote,
  keys: readonly NoteKey[],
  ed25519: Ed25519 = signatureHolds,
): Promise<VerifiedSignature[]> {
  const verified: VerifiedSignature[] = []
  for (const { name, id, bytes } of note.signatures) {
    const key = keys.find((known) => known.name === name && known.id === id)
    if (key === undefined) continue
    const signature = key.type === COSIGNATURE ? timed(key, bytes) : { key, bytes }
    if (!(await ed25519(key.publicKey, signedBytes(note.text, signature.time), signature.bytes)))
      throw new NoteError(`the signature of ${name} does not hold`)
    const { bytes: _bytes, ...holder } = signature
    verified.push(holder)
  }
  return verified
}

/** The bytes that a log signs, or, with a time in Unix seconds, a witness (C2SP tlog-cosignature, Ed25519). */
export function signedBytes(text: string, time?: number): Uint8Array {
  return utf8(time === undefined ? text : `cosignature/v1\ntime ${time}\n${text}`)
}

/** What stands behind the key id of a cosignature: time (8 bytes, big-endian) ‖ signature (64). */
export function cosignatureBytes(time: number, signature: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(8 + signature.length)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(time))
  bytes.set(signature, 8)
  return bytes
}

/** The last second that a `Date` can be; a larger number could also be too large to be exact, and be checked as another one. */
const LAST_SECOND = 8.64e12

/** Returns the time of a cosignature, in Unix seconds; undefined for one that is none. @param bytes those behind the key id */
export function cosignedAt(bytes: Uint8Array): number | undefined {
  if (bytes.length < 8) return undefined
  const time = Number(new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0))
  return time <= LAST_SECOND ? time : undefined
}

function timed(key: NoteKey, bytes: Uint8Array): VerifiedSignature & { bytes: Uint8Array } {
  if (bytes.length !== 72) throw new NoteError(`the cosignature of ${key.name} has a wrong length`)
  const time = cosignedAt(bytes)
  if (time === undefined) throw new NoteError(`the cosignature of ${key.name} has no usable time`)
  return { key, time, bytes: bytes.subarray(8) }
}

function parseSignature(line: string): NoteSignature {
  const malformed = 'a line of signature is "— <name> <base64>"'
  const [, name = '', encoded = ''] = /^— ([^ ]+) ([^ ]+)$/u.exec(line) ?? []
  if (!isKeyName(name)) throw new NoteError(malformed)
  const bytes = decoded(encoded, malformed)
  if (bytes.length < 5) throw new NoteError(malformed)
  return { name, id: hex(bytes.subarray(0, 4)), bytes: bytes.slice(4) }
}

function isKeyName(name: string): boolean {
  return KEY_NAME.test(name) && !CONTROL.test(name) && !LONE_SURROGATE.test(name)
}

function decoded(text: string, problem: string): Uint8Array {
  try {
    return fromBase64(text)
  } catch (cause) {
    throw new NoteError(problem, { cause })
  }
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function unhex(text: string): number[] {
  return [...text.matchAll(/../g)].map(([byte]) => Number.parseInt(byte, 16))
}
