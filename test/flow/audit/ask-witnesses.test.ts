import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Document } from 'mongodb'
import { describe, expect, it, onTestFinished } from 'vitest'
import { composeWitnesses } from '../../../src/compose/compose-witnesses.ts'
import { startWitnessRounds } from '../../../src/flow/audit/ask-witnesses.ts'
import { createSequencer } from '../../../src/flow/audit/log.ts'
import { proveRecord } from '../../../src/flow/audit/read-log.ts'
import { createRelay, NO_LOOPS } from '../../../src/flow/relay/relay.ts'
import { openCheckpoint } from '../../../src/signing/log/checkpoint.ts'
import { parseNote, parseVkey } from '../../../src/signing/log/note.ts'
import { startCli, useDataDir } from '../../support/cli.ts'
import { enrolWithPasskey } from '../../support/enrolled.ts'
import { freePort, startService, type TestService } from '../../support/service.ts'

/** An installation: a service, and a witness that its operator runs for the other one. */
async function useInstallation(name: string) {
  const database = `witnessed_${randomBytes(6).toString('hex')}`
  const first = await startService({ database })
  const { folder } = await useDataDir()
  const port = String(await freePort())
  const policy = join(folder, 'logs.txt')
  const command = ['witness', '--policy', policy, '--data', join(folder, 'witness'), '--port', port]
  const startWitness = async () => {
    const running = startCli([...command, '--name', `${name}.example.com/witness`])
    const [, vkey = ''] = await running.line(/^Witness (\S+)$/m)
    return { ...running, vkey, url: `http://127.0.0.1:${port}` }
  }
  onTestFinished(async () => {
    await first.composition.connection.db?.dropDatabase()
    await first.close()
  })
  return { name, database, first, policy, startWitness, vkey: await vkeyOf(first) }
}

async function vkeyOf({ url }: TestService): Promise<string> {
  return Object(await (await fetch(`${url}/.well-known/countersign-log`)).json()).vkey
}

/** The service of an installation once its operator has entered the other's witness. */
async function withWitness(
  { name, database, first, vkey: logVkey }: Awaited<ReturnType<typeof useInstallation>>,
  { vkey, url }: { vkey: string; url: string },
) {
  const env = { LOG_WITNESSES: `${vkey} ${url}/`, CALLBACK_ALLOW_PRIVATE: '1' }
  const service = await startService({ database, env })
  const { deps } = service.composition
  const rounds = startWitnessRounds(deps)
  rounds.stop()
  onTestFinished(() => service.close())
  let people = 0
  /** Has something happen, and logs it. */
  const grow = async () => {
    people += 1
    await enrolWithPasskey(first, `${name}${people}-${randomBytes(3).toString('hex')}@example.com`)
    await createRelay(deps, NO_LOOPS).run()
    await createSequencer(deps).run()
  }
  const shown = async () => {
    const response = await fetch(`${service.url}/log/checkpoint`)
    if (response.status !== 200) return { status: response.status, cosigned: 0, size: 0 }
    const opened = await openCheckpoint(await response.text(), await parseVkey(logVkey), [
      await parseVkey(vkey),
    ])
    return { status: 200, cosigned: opened.cosignatures.length, size: opened.size }
  }
  const warned = () => service.logged.map(({ message, fields }) => `${message}: ${fields.error}`)
  return { service, deps, rounds, grow, shown, warned }
}

/** Of the specification of signed notes. */
const SPEC_VKEY = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'

const KEPT = ['log_head', 'log_tiles', 'log_witnesses', 'audit_log']

/** Copies what a backup has of the log. @returns a function that puts it back, without a word of that */
async function backUp({ composition }: TestService) {
  const { db } = composition.connection
  const copies = await Promise.all(
    KEPT.map(async (name) => (await db?.collection(name).find().toArray()) ?? []),
  )
  return async () => {
    for (const [at, name] of KEPT.entries()) {
      await db?.collection(name).deleteMany({})
      const documents: Document[] = copies[at] ?? []
      if (documents.length > 0) await db?.collection(name).insertMany(documents)
    }
  }
}

describe('the checkpoints of the log', () => {
  it('are cosigned by another installation’s witness, through every death; a log that was rolled back is not', async () => {
    const [a, b] = [await useInstallation('a'), await useInstallation('b')]
    await writeFile(a.policy, `log ${b.vkey}\nquorum none\n`)
    await writeFile(b.policy, `log ${a.vkey}\nquorum none\n`)
    const ofA = await a.startWitness()
    let ofB = await b.startWitness()
    const [one, other] = [await withWitness(a, ofB), await withWitness(b, ofA)]
    for (const { grow, rounds, shown, deps } of [one, other]) {
      await grow()
      await rounds.run()
      const { size } = await shown()
      expect(await shown()).toEqual({ status: 200, cosigned: 1, size: (await deps.logs.current())?.size })
      expect(size).toBeGreaterThan(0)
      const proven = await proveRecord(deps, 1)
      expect(parseNote(proven?.checkpoint ?? '').signatures).toHaveLength(2)
    }
    const described = await (await fetch(`${one.service.url}/.well-known/countersign-log`)).json()
    expect(described).toMatchObject({ witnesses: [{ vkey: ofB.vkey, url: ofB.url }] })

    // The witness is away: nothing waits for it, and the last checkpoint that it cosigned is shown for a while.
    await ofB.stop('SIGKILL')
    const before = await one.shown()
    await one.grow()
    await one.rounds.run()
    expect(await one.shown()).toEqual(before)
    expect(one.warned().join()).toContain(`the witness at ${ofB.url} did not cosign the log`)
    ofB = await b.startWitness()
    await one.rounds.run()
    const after = await one.shown()
    expect([after.cosigned, after.size > before.size]).toEqual([1, true])

    // The answer was lost: the service asks by the size it knows, and the witness says which one it has.
    const restore = await backUp(one.service)
    const set = one.deps.logs.setWitness
    one.deps.logs.setWitness = () => Promise.reject(new Error('dies'))
    for (let times = 0; times < 3; times += 1) await one.grow()
    await one.rounds.run()
    expect((await one.shown()).size).toBe(after.size)
    one.deps.logs.setWitness = set
    await one.rounds.run()
    const newest = await one.shown()
    expect([newest.cosigned, newest.size > after.size]).toEqual([1, true])

    // Put back, and grown in another way: the witness has seen another history.
    await restore()
    while (((await one.deps.logs.current())?.size ?? 0) < newest.size) await one.grow()
    await one.rounds.run()
    expect(one.warned().join()).toMatch(/it has seen another history of this log/)
    expect((await one.deps.logs.current())?.cosigned_size).toBe(after.size)

    // Put back: the witness has seen more than the store knows, so the log stops.
    await restore()
    await one.grow()
    expect((await one.deps.logs.current())?.size).toBeLessThan(newest.size)
    await one.rounds.run()
    expect(await one.shown()).toEqual({ status: 503, cosigned: 0, size: 0 })
    expect(one.warned().join()).toContain('log_rolled_back')
  }, 180_000)

  it.each([
    ['no key', 'https://w.example.com', 'has no URL: write <vkey> <url>'],
    ['no URL', SPEC_VKEY, 'has no URL: write <vkey> <url>'],
    ['a key that is none', 'a+b https://w.example.com', 'is no verifier key'],
    ['the key of a log', `${SPEC_VKEY} https://w.example.com`, 'is the key of a log; ask the operator'],
  ])('are not offered to a witness with %s', async (_what, witnesses, problem) => {
    const rules = { baseUrl: 'https://a.example.com', production: true, callbackAllowPrivate: false }
    const config = { ...rules, transparency: { entries: 'public' as const, witnesses } }
    await expect(composeWitnesses(config)).rejects.toThrow(problem)
  })
})
