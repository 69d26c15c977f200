import { type AuditActor, drawEntry } from '../../domain/audit.ts'
import { refusal } from '../../domain/errors.ts'
import type { Clock, Log, Random, Signer, Vault } from '../../ports/ports.ts'
import { fromBase64Url, toBase64Url } from '../../signing/base64.ts'
import type { KeyPurpose, PublicKeyRecord, SigningKey } from '../../signing/key-record.ts'
import { hasSeed, KeyRing, NoSigningKeyError, newSigningKey, thumbprint } from '../../signing/keys.ts'
import { signPayload } from '../../signing/sign.ts'
import type { SealedKey, SigningKeyStore } from '../../store/signing-keys.ts'
import type { KeyKeeper, KeySettings } from '../deps.ts'

interface KeyDeps {
  store: SigningKeyStore
  vault: Vault
  clock: Clock
  random: Random
  log: Log
  /** See `SealedKey.made_with`. */
  madeWith: Readonly<Record<string, string>>
}

/** How often a service reads its signing keys again: for so long it may use the old key after a rotation by another process. */
export const KEY_RELOAD_MS = 10_000

/** Milliseconds after which every service signs with a new key, even one that could not read it at once. */
const SETTLED_MS = 3 * KEY_RELOAD_MS

/** Purposes that always have a key. Separate keys: a sandbox receipt can never pass as a live one (T72). */
export const KEY_PURPOSES: readonly KeyPurpose[] = ['decision', 'decision-sandbox', 'session', 'token', 'log']

/**
 * Milliseconds by which the first key of a purpose is valid before it was made: the clock of a new machine may yet be set back, and
 * until a key has begun nobody can sign in or decide.
 */
const FIRST_BEGINS_MS = 24 * 3_600_000

/** Milliseconds between two reads of the store for unknown ids. */
const UNKNOWN_KID_GAP_MS = 1_000

/** Creates the keeper; call `ensure` before anything is signed. */
export function createKeyKeeper(deps: KeyDeps): KeyKeeper {
  let held: Held = { sealed: [], ring: new KeyRing([]), changed: [] }
  const toldOf = new Set<string>()
  const reload = async (): Promise<KeyRing> => {
    held = await readKeys(deps, toldOf)
    return held.ring
  }
  const rotate: KeyKeeper['rotate'] = async (purpose, notBefore, actor, settings = 'keep') => {
    // Not `reload`, which fails if this process can unseal no stored key: such a store may need exactly this new key.
    const sealed = await deps.store.all()
    const next = { purpose, notBefore, actor, settings }
    const { key, generation, won } = await insertNext(deps, sealed, next)
    await reload()
    if (won) return key
    const other = held.sealed.find((stored) => stored.purpose === purpose && stored.generation === generation)
    const winner = other === undefined ? undefined : unseal(deps.vault, other)
    if (winner === undefined || !hasSeed(winner))
      throw new Error(`the rotation of ${purpose} keys collided and left no key`)
    return winner
  }
  return {
    ring: () => held.ring,
    changed: () => held.changed,
    revoke: createRevoker(deps, reload),
    reload,
    find: createFinder(deps.clock, () => held.ring, reload),
    rotate,
    async ensure() {
      await reload()
      const made = new Set(held.sealed.map((key) => key.purpose))
      const missing = KEY_PURPOSES.filter((purpose) => !made.has(purpose))
      for (const purpose of missing) {
        const first = {
          purpose,
          notBefore: new Date(deps.clock.now().getTime() - FIRST_BEGINS_MS),
          actor: { kind: 'service' },
          settings: 'keep',
        } as const
        const { key, won } = await insertNext(deps, held.sealed, first)
        if (won) deps.log.info({ purpose, kid: key.kid }, 'made the first signing key')
      }
      if (missing.length > 0) await reload()
    },
  }
}

/** Stores a key of the next generation; `won` is false if another process was faster. */
async function insertNext(
  deps: KeyDeps,
  all: readonly SealedKey[],
  next: { purpose: KeyPurpose; notBefore: Date; actor: AuditActor; settings: KeySettings },
): Promise<{ key: SigningKey; generation: number; won: boolean }> {
  const { purpose, notBefore, actor, settings } = next
  const generations = all.filter((key) => key.purpose === purpose).map((key) => key.generation)
  const generation = 1 + Math.max(0, ...generations)
  const key = drawKey(deps.random, { purpose, createdAt: deps.clock.now(), notBefore })
  const madeWith = (settings === 'keep' && all.at(-1)?.made_with) || deps.madeWith
  const won = await deps.store.insert({ ...sealKey(deps, key, generation, actor), made_with: madeWith })
  return { key, generation, won }
}

/** The keys as they were last read. */
interface Held {
  sealed: SealedKey[]
  ring: KeyRing
  changed: string[]
}

/** @throws WrongSealingKeyError, ChangedKeyError */
async function readKeys({ store, vault, log, madeWith }: KeyDeps, toldOf: Set<string>): Promise<Held> {
  const tellOnce = (name: string, fields: Record<string, unknown>, advice: string): void => {
    if (!toldOf.has(name)) log.error(fields, advice)
    toldOf.add(name)
  }
  const sealed = await store.all()
  const stored = sealed.map((key) => unseal(vault, key))
  if (stored.length > 0 && !stored.some(hasSeed)) throw new WrongSealingKeyError()
  for (const { kid, purpose } of stored.filter((key) => !hasSeed(key)))
    tellOnce(kid, { kid, purpose }, lostKeyAdvice(purpose))
  const lost = stored.filter((key) => !hasSeed(key))
  const ring = new KeyRing(stored.filter(hasSeed), lost)
  return { sealed, ring, changed: differing(sealed.at(-1)?.made_with ?? {}, madeWith) }
}

/** Draws a key whose kid does not begin with "-", as one in 64 does: `countersign signing-keys revoke <kid>` would read an option. */
function drawKey(
  random: KeyDeps['random'],
  facts: Pick<SigningKey, 'purpose' | 'createdAt' | 'notBefore'>,
): SigningKey {
  const key = newSigningKey({ ...facts, seed: random.bytes(32) })
  return key.kid.startsWith('-') ? drawKey(random, facts) : key
}

function differing(theirs: SealedKey['made_with'], ours: SealedKey['made_with']): string[] {
  // `localhost` was for trying the service out: it is not an address that people have passkeys for.
  return Object.keys(theirs).filter((name) => theirs[name] !== ours[name] && theirs[name] !== 'localhost')
}

function createRevoker(deps: KeyDeps, reload: () => Promise<KeyRing>): KeyKeeper['revoke'] {
  return async (kid, since, actor) => {
    const ring = await reload()
    const key = ring.find(kid)
    if (key === undefined) return { refused: 'unknown' }
    const now = deps.clock.now()
    if (key.notBefore <= now) {
      const successor = ring.active(key.purpose, new Date(now.getTime() - SETTLED_MS))
      if (successor === undefined || successor.notBefore <= key.notBefore) return { refused: 'signs', key }
    }
    const entry = keyEntry(deps, 'signing_key.revoked', key, actor, now)
    const detail = { ...entry.detail, since: since.toISOString() }
    if (!(await deps.store.revoke(kid, since, { ...entry, detail }))) return { refused: 'revoked', key }
    await reload()
    return { key }
  }
}

function createFinder(clock: Clock, ring: () => KeyRing, reload: () => Promise<KeyRing>): KeyKeeper['find'] {
  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<unknown> = Promise.resolve()
  return async (kid) => {
    const known = ring().find(kid)
    if (known !== undefined) return known
    const now = clock.steady()
    if (now - readAt >= UNKNOWN_KID_GAP_MS) {
      readAt = now
      reading = reload()
    }
    await reading
    return ring().find(kid)
  }
}

/**
 * Signs receipts with the key of the vote's own second, not the current key: with a quorum the earlier votes are signed at the
 * end, and verifiers refuse a key that began after the vote. The fresh signature is checked before it is returned (T74).
 * A vote whose key was revoked meanwhile is refused and never signed (T73): the store is sound, and no rotation would help.
 */
export function createSigner(keys: Pick<KeyKeeper, 'ring'>, clock: Clock): Signer {
  return {
    async sign(purpose, payload) {
      const at = new Date(Math.min(clock.now().getTime(), payload.ts * 1000 + 999))
      const key = keys.ring().active(purpose, at)
      if (key === undefined)
        throw keys.ring().revokedFor(purpose, at)
          ? refusal('vote_key_revoked')
          : new NoSigningKeyError(purpose)
      return signPayload(payload, key)
    },
  }
}

function seedAad(purpose: KeyPurpose, kid: string): string {
  return `signing-key:${purpose}:${kid}`
}

function keyEntry(
  deps: KeyDeps,
  type: 'signing_key.created' | 'signing_key.revoked',
  { kid, purpose }: PublicKeyRecord,
  actor: AuditActor,
  at: Date,
) {
  // The id of a key is the digest by which the log names it.
  const subject_sha256 = Buffer.from(kid, 'base64url').toString('hex')
  return drawEntry(deps, { type, at, actor, subject: kid, detail: { purpose, subject_sha256 } })
}

function sealKey(
  deps: KeyDeps,
  key: SigningKey,
  generation: number,
  actor: AuditActor,
): Omit<SealedKey, 'made_with'> {
  const entry = keyEntry(deps, 'signing_key.created', key, actor, key.createdAt)
  const audit = { ...entry, detail: { ...entry.detail, generation } }
  return {
    kid: key.kid,
    purpose: key.purpose,
    generation,
    public_key: toBase64Url(key.publicKey),
    sealed_seed: deps.vault.seal(key.seed, seedAad(key.purpose, key.kid)),
    not_before: key.notBefore,
    created_at: key.createdAt,
    revoked_at: null,
    audit: [audit],
  }
}

/** The store was written under another `SEALING_KEY`: nothing can be signed, so the service must not start. */
class WrongSealingKeyError extends Error {
  override readonly name = 'WrongSealingKeyError'

  constructor() {
    super(
      'The stored signing keys cannot be decrypted with this SEALING_KEY. Set the one that this store was made with. A development start keeps it in secrets.json of its data directory, which is used only if neither the environment nor .env sets another.',
    )
  }
}

/** A key's public half is not the one that was stored: without the right one, what the key signed would be called forged. */
class ChangedKeyError extends Error {
  override readonly name = 'ChangedKeyError'

  constructor(kid: string) {
    super(
      `The stored signing key ${kid} was changed: its public half does not match its id. Restore the store from a backup.`,
    )
  }
}

function lostKeyAdvice(purpose: KeyPurpose): string {
  return `a stored signing key cannot be decrypted: its signatures still verify, but it signs nothing more. If it is the newest of its purpose, run: countersign signing-keys rotate --purpose ${purpose} --now`
}

/** Returns the key, without its seed if the seed does not open. @throws ChangedKeyError */
function unseal(vault: Vault, stored: SealedKey): PublicKeyRecord | SigningKey {
  const key = {
    kid: stored.kid,
    purpose: stored.purpose,
    publicKey: publicHalf(stored),
    notBefore: stored.not_before,
    createdAt: stored.created_at,
    ...(stored.revoked_at === null ? {} : { revokedAt: stored.revoked_at }),
  }
  try {
    return { ...key, seed: vault.open(stored.sealed_seed, seedAad(stored.purpose, stored.kid)) }
  } catch {
    return key
  }
}

function publicHalf({ kid, public_key }: SealedKey): Uint8Array {
  try {
    const publicKey = fromBase64Url(public_key)
    if (thumbprint(publicKey) === kid) return publicKey
  } catch {
    // Not even base64url.
  }
  throw new ChangedKeyError(kid)
}
