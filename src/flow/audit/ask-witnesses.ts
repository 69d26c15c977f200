import { given } from '../../domain/given.ts'
import { warnSeldom } from '../../ports/warn-seldom.ts'
import { within } from '../../ports/within.ts'
import { type NoteKey, parseNote, signatureLine, verifyNote } from '../../signing/log/note.ts'
import { formatOffer, parseSize, SIZE_TYPE } from '../../signing/log/witnessing.ts'
import type { LogHead } from '../../store/audit/log.ts'
import type { FlowDeps } from '../deps.ts'
import { COSIGNED_MS, isRolledBack, stopLog } from './log.ts'
import { growthPath, witnessId } from './read-log.ts'

/** Milliseconds from one round to the next; one in which a witness hangs, twice for 5 s, takes longer, and the next follows at once. */
const ROUND_MS = 5_000

/** How long a witness that answered waits to be shown for those that did not. With the above, a decision is witnessed within 15 s. */
const TOGETHER_MS = 2_000

/** A checkpoint is cosigned again after this time, so that its age shows that the log is still watched. */
const AGAIN_MS = 20 * 3_600_000

type WitnessDeps = Parameters<typeof stopLog>[0] & Pick<FlowDeps, 'witnesses' | 'offers'>

/** Has witnesses cosign the log's checkpoints. Nothing waits for it. */
export interface WitnessRounds {
  /** Asks every witness that has not cosigned the newest checkpoint. Never throws. */
  run(): Promise<void>
  stop(): void
}

/** Starts the rounds; without witnesses there is none. Several processes may ask at once: it costs only time. */
export function startWitnessRounds(deps: WitnessDeps): WitnessRounds {
  const troubles = deps.witnesses.map(({ url }) =>
    warnSeldom(deps.log, `the witness at ${url} did not cosign the log; it is asked again`),
  )
  const trouble = warnSeldom(deps.log, 'asking the witnesses of the log failed; they are asked again')
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  const run = async (): Promise<void> => {
    try {
      const head = await deps.logs.current()
      if (head?.note === undefined || isRolledBack(deps, head)) return
      const { note } = head
      let isNew = false
      const asking = deps.witnesses.map(async (witness, at) => {
        try {
          const line = await askWitness(deps, { ...head, note }, witness)
          // One that is known may be new as well: a process died before it was shown.
          isNew ||= line !== undefined && head.cosigned_note?.includes(line) !== true
          troubles[at]?.worked()
        } catch (error) {
          const why = error instanceof Error ? error.message : String(error)
          troubles[at]?.failed(error instanceof NotCosigned ? why : error)
          await deps.logs.failWitness(head.number, witnessId(witness.key), deps.clock.now(), why)
        }
      })
      const all = Promise.all(asking)
      const isLate = (await within(TOGETHER_MS, all)) === undefined
      if (isNew) await showCosigned(deps, head)
      await all
      if (isNew && isLate) await showCosigned(deps, head)
      trouble.worked()
    } catch (error) {
      trouble.failed(error)
    }
  }
  const turn = (): void => {
    const next = deps.clock.steady() + ROUND_MS
    run().finally(() => {
      if (!stopped) timer = setTimeout(turn, Math.max(0, next - deps.clock.steady())).unref()
    })
  }
  if (deps.witnesses.length > 0) turn()
  return {
    run,
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}

/** A witness did not cosign, as happens every day: the log has the reason without a stack. */
class NotCosigned extends Error {}

/**
 * Has one witness cosign the checkpoint. It says itself which one it cosigned last, if that is not the one known here (409).
 * @returns the line of its cosignature; undefined when it has seen a larger one
 * @throws NotCosigned in words for an operator, and what the store throws
 */
async function askWitness(
  deps: WitnessDeps,
  head: LogHead & { note: string },
  { key, url }: FlowDeps['witnesses'][number],
): Promise<string | undefined> {
  const place = [head.number, witnessId(key)] as const
  const at = deps.clock.now()
  const known = await deps.logs.witness(...place)
  const isFresh = known !== undefined && at.getTime() - known.at.getTime() < AGAIN_MS
  if (known?.line !== undefined && known.size === head.size && isFresh) {
    // Another process asked at the same time and failed.
    if (known.failing !== undefined) await deps.logs.setWitness(place, known, known)
    return known.line
  }
  let old = known?.size ?? 0
  for (let attempt = 1; ; attempt += 1) {
    if (old > head.size) return seenLarger(deps, head, old)
    const proof = await growthPath(deps, head, old)
    const body = formatOffer({ old, proof, note: head.note })
    const { outcome, answer } = await deps.offers.send({ url: `${url}/add-checkpoint`, body, at })
    if (outcome === 'http_200') {
      const line = await cosignatureIn(answer?.body ?? '', head.note, key)
      await deps.logs.setWitness(place, known, { size: head.size, line, at })
      return line
    }
    const said = outcome === 'http_409' && answer?.type === SIZE_TYPE ? answer.body.replace(/\n$/, '') : ''
    const size = parseSize(said)
    if (size === undefined || size === old || attempt > 1) throw new NotCosigned(reasonOf(outcome))
    old = size
  }
}

function reasonOf(outcome: string): string {
  if (outcome === 'http_404' || outcome === 'http_403')
    return `${outcome}: it does not know the log, or not by its key; give its operator the vkey of /.well-known/countersign-log`
  if (outcome === 'http_409' || outcome === 'http_422')
    return `${outcome}: it has seen another history of this log; get its last checkpoint, then run: countersign log renew --after <file>`
  if (outcome === 'blocked')
    return 'blocked: its URL must be a public https: address of another host; outside production, CALLBACK_ALLOW_PRIVATE=1 allows others'
  return outcome
}

/** A witness has seen more than the store knows: the store was put back. Unless another process of ours was meanwhile faster. */
async function seenLarger(deps: WitnessDeps, { number }: LogHead, size: number): Promise<undefined> {
  const head = await deps.logs.current()
  if (head === undefined || head.number !== number || head.size >= size) return
  if (!isRolledBack(deps, head)) await stopLog(deps, head)
}

/** @returns the line of the witness's own cosignature. @throws unless it holds for this checkpoint */
async function cosignatureIn(body: string, note: string, key: NoteKey): Promise<string> {
  const signed = parseNote(note + body)
  const isHeld = (await verifyNote(signed, [key])).length > 0
  const signature = signed.signatures.find(({ name, id }) => name === key.name && id === key.id)
  if (!isHeld || signature === undefined) throw new NotCosigned('its answer has no cosignature of its key')
  return signatureLine(signature)
}

/** Puts the cosignatures that there are on the checkpoint that was asked for. */
async function showCosigned(deps: WitnessDeps, { number, size, note = '' }: LogHead): Promise<void> {
  const states = await Promise.all(deps.witnesses.map(({ key }) => deps.logs.witness(number, witnessId(key))))
  const lines = states.flatMap((state) =>
    state?.size === size && state.line !== undefined ? [state.line] : [],
  )
  const cosigned_note = note + lines.join('')
  const head = await deps.logs.current()
  if (lines.length === 0 || head?.number !== number || cosigned_note === head.cosigned_note) return
  if ((head.cosigned_size ?? 0) > size) return
  const now = deps.clock.now().getTime()
  // Half of the time is left for this write: afterwards newer ones may have been shown, and none is followed by an older one.
  const isShown = now + COSIGNED_MS / 2 < (head.cosigned_until?.getTime() ?? 0)
  const cosigned_until = isShown ? new Date(now + COSIGNED_MS) : undefined
  await deps.logs.cosign(head, { cosigned_note, cosigned_size: size, ...given({ cosigned_until }) })
}
