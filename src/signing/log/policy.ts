import { COSIGNATURE, LOG_SIGNATURE, type NoteKey, type NoteKeyType, parseVkey } from './note.ts'

/** The text is no trust policy; the message names its line. */
export class PolicyError extends Error {
  override readonly name = 'PolicyError'
}

/** A log or a witness that is trusted. */
interface TrustedKey {
  key: NoteKey
  url?: string
}

interface Group {
  /** How many of the members must have cosigned. */
  threshold: number
  members: readonly string[]
}

/** Whose checkpoints count, and which witnesses must have cosigned them (C2SP tlog-policy). */
export interface TrustPolicy {
  logs: readonly TrustedKey[]
  witnesses: ReadonlyMap<string, TrustedKey>
  groups: ReadonlyMap<string, Group>
  /** A witness, a group, or `none`. */
  quorum: string
}

/** A policy while its lines are read. */
interface Draft {
  logs: TrustedKey[]
  witnesses: Map<string, TrustedKey>
  groups: Map<string, Group>
  quorum?: string
}

/** Reads a policy. @throws PolicyError */
export async function parsePolicy(text: string): Promise<TrustPolicy> {
  const draft: Draft = { logs: [], witnesses: new Map(), groups: new Map() }
  for (const [at, line] of text.split('\n').entries()) {
    const words = line.split(/[ \t]+/).filter((word) => word !== '')
    const problem = CONTROL.test(line) ? 'control characters' : await readLine(draft, words)
    if (problem !== undefined) throw new PolicyError(`line ${at + 1} of the policy: ${problem}`)
  }
  const { quorum } = draft
  if (quorum === undefined) throw new PolicyError('the policy has no line "quorum"')
  return { ...draft, quorum }
}

/** Checks whether these keys together are enough. `none` is always met. */
export function quorumMet(policy: TrustPolicy, cosigned: readonly NoteKey[]): boolean {
  const met = (name: string): boolean => {
    const witness = policy.witnesses.get(name)
    if (witness !== undefined)
      return cosigned.some(({ id, name: of }) => id === witness.key.id && of === witness.key.name)
    const group = policy.groups.get(name)
    return group !== undefined && group.members.filter(met).length >= group.threshold
  }
  return policy.quorum === 'none' || met(policy.quorum)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: C2SP tlog-policy forbids them by their codes.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/

/** @returns what is wrong with the line */
async function readLine(draft: Draft, [kind, ...words]: readonly string[]): Promise<string | undefined> {
  if (kind === undefined || kind.startsWith('#')) return undefined
  if (kind === 'log') return readLog(draft, words)
  if (kind === 'witness') return readWitness(draft, words)
  if (kind === 'group') return readGroup(draft, words)
  if (kind !== 'quorum') return `"${kind}" is none of log, witness, group, quorum`
  const [name, ...rest] = words
  if (draft.quorum !== undefined) return 'a second "quorum"'
  if (name === undefined || rest.length > 0 || (name !== 'none' && !isDefined(draft, name)))
    return 'a quorum is one witness or group of the lines before, or "none"'
  draft.quorum = name
  return undefined
}

async function readLog(draft: Draft, words: readonly string[]): Promise<string | undefined> {
  const read = await readKey(words, LOG_SIGNATURE)
  if (typeof read === 'string') return read
  if (repeats(draft.logs, read)) return 'the key of another log'
  draft.logs.push(read)
  return undefined
}

async function readWitness(
  draft: Draft,
  [name = '', ...words]: readonly string[],
): Promise<string | undefined> {
  if (name === 'none' || isDefined(draft, name)) return `the name "${name}" is taken`
  const read = await readKey(words, COSIGNATURE)
  if (typeof read === 'string') return read
  // One cosigner under two names would count twice.
  if (repeats([...draft.witnesses.values()], read)) return 'the key of another witness'
  draft.witnesses.set(name, read)
  return undefined
}

function readGroup(draft: Draft, [name, rule, ...members]: readonly string[]): string | undefined {
  if (name === undefined || rule === undefined || members.length === 0)
    return 'a group has a name, a rule and members'
  if (name === 'none' || isDefined(draft, name)) return `the name "${name}" is taken`
  const grouped = new Set([...draft.groups.values()].flatMap((group) => group.members))
  for (const member of members) {
    if (!isDefined(draft, member)) return `"${member}" is no witness or group of the lines before`
    if (grouped.has(member)) return `"${member}" is a member already`
    grouped.add(member)
  }
  const threshold = rule === 'any' ? 1 : rule === 'all' ? members.length : Number(rule)
  if (!/^(any|all|[1-9][0-9]*)$/.test(rule) || threshold > members.length)
    return `a rule is any, all, or a number from 1 to ${members.length}`
  draft.groups.set(name, { threshold, members })
  return undefined
}

async function readKey(words: readonly string[], type: NoteKeyType): Promise<TrustedKey | string> {
  const [vkey, url, ...rest] = words
  if (vkey === undefined || rest.length > 0) return 'a verifier key, and a URL or nothing, are expected'
  try {
    const key = await parseVkey(vkey)
    if (key.type !== type) return `a key of signature type ${type} is expected`
    return url === undefined ? { key } : { key, url }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function isDefined({ witnesses, groups }: Draft, name: string): boolean {
  return witnesses.has(name) || groups.has(name)
}

function repeats(known: readonly TrustedKey[], { key }: TrustedKey): boolean {
  return known.some((other) => other.key.publicKey.every((byte, at) => byte === key.publicKey[at]))
}
