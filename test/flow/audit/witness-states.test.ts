import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, inject, it } from 'vitest'
import { composeWitnesses } from '../../../src/compose/compose-witnesses.ts'
import { createAppender } from '../../../src/flow/audit/append-to-trail.ts'
import { startWitnessRounds } from '../../../src/flow/audit/ask-witnesses.ts'
import { createSequencer } from '../../../src/flow/audit/log.ts'
import { createRelay, NO_LOOPS } from '../../../src/flow/relay/relay.ts'
import { entryNumber } from '../../support/audit-entries.ts'
import { cli, startCli, useDataDir } from '../../support/cli.ts'
import { copyLog, described } from '../../support/logs.ts'
import { databaseUri, freePort, TEST_SECRETS, useService } from '../../support/service.ts'

/** Of the specification of signed notes. */
const SPEC_VKEY = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'

/** A service whose log a witness cosigns, as doctor, the metrics and `log status` know both. */
async function useWitnessed() {
  const { folder } = await useDataDir()
  const port = String(await freePort())
  const policy = join(folder, 'logs.txt')
  const trust = (...vkeys: string[]) =>
    writeFile(policy, `${vkeys.map((vkey) => `log ${vkey}\n`).join('')}quorum none\n`)
  const command = ['witness', '--policy', policy, '--data', join(folder, 'witness'), '--port', port]
  const startWitness = () => startCli([...command, '--name', 'witness.example.com'])
  await trust(SPEC_VKEY)
  const witness = startWitness()
  const [, vkey = ''] = await witness.line(/^Witness (\S+)$/m)
  const METRICS_PORT = String(await freePort())
  const rules = { LOG_WITNESSES: `${vkey} http://127.0.0.1:${port}/`, CALLBACK_ALLOW_PRIVATE: '1' }
  const service = await useService({ env: { ...rules, METRICS_PORT } })
  const { deps, connection } = service.composition
  const MONGODB_URI = databaseUri(inject('storeUri'), connection.name)
  const env = { ...TEST_SECRETS, ...rules, BASE_URL: service.url, MONGODB_URI }
  const rounds = startWitnessRounds(deps)
  rounds.stop()
  let news = 0
  return {
    service,
    deps,
    trust,
    witness,
    startWitness,
    run: (...command: string[]) => cli([...command, '--json'], { env }),
    /** Has as much happen, logs it, and asks the witness. */
    async grow(records: number, asked = rounds) {
      await createRelay(deps, NO_LOOPS).run()
      await createAppender(deps)(Array.from({ length: records }, () => entryNumber(++news)))
      await createSequencer(deps).run()
      await asked.run()
    },
    /** Asks as a service does that may not call this machine. */
    async guardedRounds() {
      const own = { baseUrl: service.url, production: false, callbackAllowPrivate: false }
      const transparency = { entries: 'public', witnesses: rules.LOG_WITNESSES } as const
      const guarded = startWitnessRounds({ ...deps, ...(await composeWitnesses({ ...own, transparency })) })
      guarded.stop()
      return guarded
    },
    async metrics() {
      const text = await (await fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`)).text()
      return Object.fromEntries(
        [...text.matchAll(/^countersign_log_(\w+)(?:\{witness="witness\.example\.com"\})? (\S+)$/gm)].map(
          ([, name, value]) => [name, Number(value)],
        ),
      )
    },
    async examined(name: string, more: Record<string, string> = {}) {
      const { checks } = (await cli(['doctor', '--json'], { env: { ...env, ...more } })).json()
      return checks.find((check: { name: string }) => check.name === name)
    },
  }
}

it('says of each witness what it cosigned and since when it fails; a store put back is noticed by it', async () => {
  const { service, deps, trust, run, grow, metrics, examined, ...ran } = await useWitnessed()
  const { vkey, origin } = await described(service)
  const status = async () => (await run('log', 'status')).json().log
  const sizeOf = async () => (await deps.logs.current())?.size ?? 0

  // Its operator has not heard of the log.
  await grow(5)
  const size = await sizeOf()
  const why = expect.stringMatching(/^http_404: it does not know the log/)
  const failing = { since: expect.stringMatching(/Z$/), why }
  expect(await status()).toMatchObject({
    origin,
    size,
    rolled_back: false,
    witnesses: [{ size: 0, failing }],
  })
  expect(await metrics()).toMatchObject({
    size,
    behind: 0,
    rolled_back: 0,
    witness_behind: size,
    witness_age_seconds: Number.NaN,
  })
  expect((await metrics()).witness_failing_seconds).toBeGreaterThan(0)
  expect(await examined('Witness')).toEqual({
    name: 'Witness',
    status: 'warn',
    detail: expect.stringMatching(
      /^witness\.example\.com: nothing cosigned yet; failing since \S+Z, at first: http_404: it does/,
    ),
    fix: expect.stringMatching(/^Ask its operator whether it runs at http:\/\/127/),
  })

  await trust(vkey)
  await ran.witness.stop()
  let witness = ran.startWitness()
  await witness.line(/^Witness /m)
  await grow(0)
  expect(await status()).toMatchObject({
    witnesses: [{ name: 'witness.example.com', size, cosigned_at: expect.any(String), failing: null }],
  })
  expect(await metrics()).toMatchObject({ witness_behind: 0, witness_failing_seconds: 0 })
  expect((await metrics()).witness_age_seconds).toBeLessThan(600)
  expect(await examined('Witness')).toEqual({
    name: 'Witness',
    status: 'ok',
    detail: expect.stringMatching(new RegExp(`last cosigned \\S+Z, ${size} records$`)),
  })
  expect(await examined('Log')).toMatchObject({
    status: 'ok',
    detail: expect.stringMatching(`^${size} records`),
  })

  expect(await examined('Witness', { LOG_WITNESSES: 'x' })).toMatchObject({
    status: 'fail',
    detail: expect.stringMatching(/^LOG_WITNESSES: "x" has no URL/),
  })

  // A copy of the files is put back, without a word; the witness has seen more.
  const putBack = await copyLog(service)
  await grow(20)
  await putBack()
  await grow(2)
  expect((await fetch(`${service.url}/log/checkpoint`)).status).toBe(503)
  expect(await metrics()).toMatchObject({ rolled_back: 1 })
  expect(await examined('Log')).toMatchObject({
    status: 'fail',
    detail: expect.stringMatching(/^log_rolled_back/),
    fix: expect.stringMatching(/Then: countersign log renew --after <its file>, or --after none if/),
  })
  const told = await run('audit', 'list', '--type', 'log.rollback_detected')
  expect(JSON.parse(told.stdout.trim())).toMatchObject({ subject: origin, detail: { size: size + 2 } })
  const stopped = await sizeOf()
  await grow(3)
  expect(await sizeOf()).toBe(stopped)

  expect((await run('log', 'renew', '--after', 'none')).json()).toMatchObject({ origin: `${origin}/log/2` })
  await grow(0)
  expect(await status()).toMatchObject({ rolled_back: false, witnesses: [{ size: 0, failing }] })
  await trust(vkey, (await described(service)).vkey)
  await witness.stop()
  witness = ran.startWitness()
  await witness.line(/^Witness /m)
  await grow(0)
  expect(await status()).toMatchObject({ witnesses: [{ size: await sizeOf(), failing: null }] })
  const note = await (await fetch(`${service.url}/log/2/checkpoint`)).text()
  expect(note).toContain(`\n— witness.example.com `)

  await grow(1, await ran.guardedRounds())
  const blocked =
    'blocked: its URL must be a public https: address of another host; outside production, CALLBACK_ALLOW_PRIVATE=1 allows others'
  // Not an error with a stack: it happens every day.
  expect(service.logged.map(({ fields }) => fields.error)).toContain(blocked)
  expect(await examined('Witness')).toMatchObject({
    detail: expect.stringMatching(new RegExp(`at first: ${blocked}$`)),
    fix: 'Correct its URL in LOG_WITNESSES, or set CALLBACK_ALLOW_PRIVATE=1 for a trial. Once that is done, ask its operator: docs/witness.md',
  })
})
