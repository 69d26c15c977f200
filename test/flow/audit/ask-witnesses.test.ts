import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import Database from 'libsql'
import { describe, expect, it, onTestFinished } from 'vitest'
import { composeWitnesses } from '../../../src/compose/compose-witnesses.ts'
import { startWitnessRounds } from '../../../src/flow/audit/ask-witnesses.ts'
import { createSequencer } from '../../../src/flow/audit/log.ts'
import { proveRecord } from '../../../src/flow/audit/read-log.ts'
import { createRelay, NO_LOOPS } from '../../../src/flow/relay/relay.ts'
import { parseJwks } from '../../../src/signing/keys.ts'
import { openCheckpoint, parseProof } from '../../../src/signing/log/checkpoint.ts'
import { formatVkey, LOG_SIGNATURE, noteKey, parseNote, parseVkey } from '../../../src/signing/log/note.ts'
import { parsePolicy } from '../../../src/signing/log/policy.ts'
import { verifyBundle } from '../../../src/signing/verify-bundle.ts'
import { startProcess } from '../../deploy/child.ts'
import { startCli, useDataDir } from '../../support/cli.ts'
import { enrolWithPasskey, expectStatus } from '../../support/enrolled.ts'
import { ask, callWithKey, decideByPasskey, setUpOwner } from '../../support/live.ts'
import { copyLog } from '../../support/logs.ts'
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

type Witnessed = Awaited<ReturnType<typeof withWitness>>

/** Of the specification of signed notes. */
const SPEC_VKEY = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'

/** Another cosigner; the key of the specification's log, as that of a witness. */
const SPEC_WITNESS = 'example.com/foo+7c264079+BOkyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'

/** What a service and its witness go through: a lost answer, and a store that is put back, grown in another way and not. */
async function goThrough({ service, deps, rounds, grow, shown, warned }: Witnessed): Promise<void> {
  // After a day without events.
  const states = service.composition.connection.collection('log_witnesses')
  await states.updateMany({}, { $set: { at: new Date(0) } })
  await rounds.run()
  expect((await states.find().toArray()).filter(({ at }) => at > new Date(0))).toHaveLength(1)

  const before = await shown()
  // The answer was lost: the service asks by the size it knows, and the witness says which one it has.
  const restore = await copyLog(service)
  const set = deps.logs.setWitness
  deps.logs.setWitness = () => Promise.reject(new Error('dies'))
  for (let times = 0; times < 3; times += 1) await grow()
  await rounds.run()
  expect((await shown()).size).toBe(before.size)
  deps.logs.setWitness = set
  await rounds.run()
  const newest = await shown()
  expect([newest.cosigned, newest.size > before.size]).toEqual([1, true])

  // Put back, and grown in another way: the witness has seen another history.
  await restore()
  while (((await deps.logs.current())?.size ?? 0) < newest.size) await grow()
  await rounds.run()
  expect(warned().join()).toMatch(/it has seen another history of this log/)
  expect((await deps.logs.current())?.cosigned_size).toBe(before.size)

  // Put back: the witness has seen more than the store knows, so the log stops.
  await restore()
  await grow()
  expect((await deps.logs.current())?.size).toBeLessThan(newest.size)
  await rounds.run()
  expect(await shown()).toEqual({ status: 503, cosigned: 0, size: 0 })
  expect(warned().join()).toContain('log_rolled_back')
}

const run = promisify(execFile)

/** The folder of a witness and of a verifier that others wrote (test/judges/torchwood), where .ci/run could build them. */
const TORCHWOOD = process.env.TORCHWOOD ?? ''
if (TORCHWOOD === '') console.warn('TORCHWOOD is not set: its witness is skipped (.ci/run)')

/** Runs litewitness as its README says, with its key in an agent of ssh. */
async function startLitewitness() {
  const { folder: cwd } = await useDataDir()
  const keygen = async (...args: string[]) =>
    (await run('ssh-keygen', [...args, '-f', 'key'], { cwd })).stdout
  await keygen('-q', '-t', 'ed25519', '-N', '')
  const [, fingerprint = ''] = (await keygen('-l')).split(' ')
  const listen = `127.0.0.1:${await freePort()}`
  const command = `ssh-add -q key && exec "$0" -ssh-agent "$SSH_AUTH_SOCK" -name lite.example.com/w -key ${fingerprint} -listen ${listen}`
  const running = startProcess('ssh-agent', ['sh', '-c', command, join(TORCHWOOD, 'litewitness')], {
    cwd,
    env: { PATH: process.env.PATH, TMPDIR: cwd },
  })
  onTestFinished(() => running.end('SIGKILL'))
  const [, vkey = ''] = await running.line(/vkey=(\S+)/)
  await running.line(/msg=listening/)
  return {
    vkey,
    url: `http://${listen}`,
    /** What `witnessctl add-log` and `add-key` do; that program imports a module that cannot be had everywhere. */
    add: (origin: string, log: string) => {
      const db = new Database(join(cwd, 'litewitness.db'))
      const empty = createHash('sha256').digest('base64')
      db.prepare('INSERT OR IGNORE INTO log VALUES (?, 0, ?)').run(origin, empty)
      db.prepare('INSERT INTO key VALUES (?, ?)').run(origin, log)
      db.close()
    },
  }
}

describe('the checkpoints of the log', () => {
  it('are cosigned by a witness that dies in between; a log that was rolled back is not', async () => {
    const installation = await useInstallation('a')
    await writeFile(installation.policy, `log ${installation.vkey}\nquorum none\n`)
    let witness = await installation.startWitness()
    const one = await withWitness(installation, witness)
    await one.grow()
    await one.rounds.run()
    expect(await one.shown()).toEqual({
      status: 200,
      cosigned: 1,
      size: (await one.deps.logs.current())?.size,
    })
    const proven = await proveRecord(one.deps, 1)
    expect(parseNote(proven?.checkpoint ?? '').signatures).toHaveLength(2)
    const described = await (await fetch(`${one.service.url}/.well-known/countersign-log`)).json()
    expect(described).toMatchObject({ witnesses: [{ vkey: witness.vkey, url: witness.url }] })

    // The witness is away: nothing waits for it, and the last checkpoint that it cosigned is shown for a while.
    await witness.stop('SIGKILL')
    const before = await one.shown()
    await one.grow()
    await one.rounds.run()
    expect(await one.shown()).toEqual(before)
    expect(one.warned().join()).toContain(`the witness at ${witness.url} did not cosign the log`)
    witness = await installation.startWitness()
    await one.rounds.run()
    const after = await one.shown()
    expect([after.cosigned, after.size > before.size]).toEqual([1, true])

    await goThrough(one)
  }, 180_000)

  it.skipIf(TORCHWOOD === '')(
    'are cosigned by litewitness, so that bundles hold under a policy that names it, before Torchwood as well',
    async () => {
      const installation = await useInstallation('c')
      const lite = await startLitewitness()
      const one = await withWitness(installation, lite)
      await one.grow()
      await one.rounds.run()
      const log = await parseVkey(installation.vkey)
      const { publicKey } = await parseVkey(SPEC_VKEY)
      lite.add(log.name, formatVkey(await noteKey(log.name, LOG_SIGNATURE, publicKey)))
      const later = startWitnessRounds(one.deps)
      later.stop()
      await later.run()
      for (const status of [404, 403])
        expect(one.warned().join()).toMatch(
          `http_${status}: it does not know the log, or not by its key; give`,
        )
      lite.add(log.name, installation.vkey)

      const setting = await setUpOwner(installation.first, 'c@example.com')
      const id = await ask(setting)
      expectStatus(await decideByPasskey(setting, id, 'approved'), 200)
      await one.grow()
      await one.rounds.run()
      expect((await one.shown()).cosigned).toBe(1)
      const bundled = await callWithKey(one.service, setting.key, `/${id}/receipt?log=witnessed`)
      const bundle = await bundled.text()
      const trust = (witness: string) =>
        `log ${installation.vkey}\nwitness lite ${witness} ${lite.url}\ngroup any-of 1 lite\nquorum any-of\n`
      const keys = parseJwks(await (await fetch(`${one.service.url}/.well-known/jwks.json`)).json())
      const verdict = async (witness: string) =>
        (await verifyBundle(bundle, { keys, policy: await parsePolicy(trust(witness)) })).verdict
      expect([await verdict(lite.vkey), await verdict(SPEC_WITNESS)]).toEqual(['good', 'unmet'])

      const { proof } = JSON.parse(bundle).log
      const { index } = parseProof(proof)
      const { size } = await one.shown()
      const tile = await fetch(`${one.service.url}/log/tile/entries/000.p/${size}`)
      const entry = Buffer.from(await tile.arrayBuffer()).subarray(66 * index + 2, 66 * (index + 1))
      const given = { policy: trust(lite.vkey), proof, entry: entry.toString('base64') }
      const cases = [
        given,
        { ...given, policy: trust(SPEC_WITNESS) },
        { ...given, policy: `log ${SPEC_VKEY}\nquorum none\n` },
        { ...given, proof: proof.replace(`index ${index}`, `index ${index - 1}`) },
        { ...given, entry: Buffer.alloc(64).toString('base64') },
      ]
      const judged = run(join(TORCHWOOD, 'torchwood'))
      judged.child.stdin?.end(JSON.stringify(cases))
      expect(JSON.parse((await judged).stdout)).toEqual([
        '',
        expect.stringContaining('only 1/2 policy components satisfied'),
        'note has no verifiable signatures',
        expect.stringContaining('verification failed for index'),
        expect.stringContaining('verification failed for index'),
      ])

      await goThrough(one)
    },
    120_000,
  )

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
