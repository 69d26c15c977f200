import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { z } from 'zod'
import { packagePath } from '../../src/config/package-path.ts'
import type { AuditEntry, AuditType } from '../../src/domain/audit.ts'
import { GENESIS, linkEntry } from '../../src/signing/audit-chain.ts'
import { alter, newCaller, type TestCaller } from '../support/caller.ts'
import { createChatPlatform } from '../support/chat-platform.ts'
import { ask, callWithKey, decideByPasskey, setUpOwner } from '../support/live.ts'
import { patienceFor } from '../support/patience.ts'
import { freePort, startService, type TestService } from '../support/service.ts'
import { startProcess, type WatchedProcess } from './child.ts'
import { describeWith } from './describe-with.ts'

const PROMETHEUS = process.env.PROMETHEUS_PATH ?? '/usr/bin/prometheus'
const FOLDER = packagePath('deploy/observability')

const rulesSchema = z.object({
  groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string(), expr: z.string() })) })),
})
const dashboardSchema = z.object({
  panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })) })),
})
const answerSchema = z.object({
  status: z.literal('success'),
  data: z.object({ result: z.array(z.unknown()) }),
})

const text = (name: string): string => readFileSync(join(FOLDER, name), 'utf8')
const ALERTS = rulesSchema.parse(parse(text('alerts.yml'))).groups.flatMap(({ rules }) => rules)

/** Name and id of a witness. */
const WITNESS = 'example.com/foo+7c264079'

/** A small disk of their own needs a mount, which this machine may not allow. */
const MAY_MOUNT = spawnSync('unshare', ['-rm', 'true']).status === 0

describeWith('PROMETHEUS_PATH', PROMETHEUS)('the alert rules and the dashboard', () => {
  const ended: (() => Promise<unknown>)[] = []
  let folder: string
  let prometheus: string
  let ahead = 0
  let service: TestService
  let away: TestService
  let own: WatchedProcess
  let ownPort: number

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'observability-'))
    const [a, b, c] = [await freePort(), await freePort(), await freePort()]
    service = await startService({
      env: {
        METRICS_PORT: String(a),
        LOG_WITNESSES: `${WITNESS}+BOkyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k http://127.0.0.1:9`,
        CALLBACK_ALLOW_PRIVATE: '1',
      },
      localTime: () => Date.now() + ahead,
      chats: [createChatPlatform('slack')],
    })
    away = await startService({ env: { METRICS_PORT: String(b) }, database: 'observed_away' })
    ;[own, ownPort] = await startOwn(c)
    prometheus = await startPrometheus()
    await target('well', [a, b, c])
  }, patienceFor(60_000))
  afterAll(async () => {
    for (const end of ended.reverse()) await end()
    await own.end('SIGKILL')
    await service.close()
    await away.close().catch(() => undefined)
    await rm(folder, { recursive: true, force: true })
  })

  /** A process with its own embedded store on a small disk, and few descriptors. */
  async function startOwn(metricsPort: number): Promise<[WatchedProcess, number]> {
    const port = await freePort()
    const dataDir = join(folder, 'data')
    await mkdir(dataDir, { mode: 0o700 })
    const start = `ulimit -n 200; exec ${process.execPath} ${packagePath('bin/start.mjs')}`
    const mounted = `mount -t tmpfs -o size=$DISK,mode=700 tmpfs ${dataDir}; ${start}`
    const env = {
      PATH: process.env.PATH,
      PORT: String(port),
      METRICS_PORT: String(metricsPort),
      DATA_DIR: dataDir,
    }
    const child = MAY_MOUNT
      ? startProcess('unshare', ['-rm', 'bash', '-c', mounted], { env: { ...env, DISK: '64m' } })
      : startProcess('bash', ['-c', start], { env })
    await child.line(/Countersign is running/)
    return [child, port]
  }

  /** The shipped configuration, but for the interval and where the processes are. */
  async function startPrometheus(): Promise<string> {
    const shipped = parse(text('prometheus.yml'))
    const [job] = shipped.scrape_configs
    const file_sd_configs = [{ files: [join(folder, 'targets-*.json')], refresh_interval: '1s' }]
    const config = {
      ...shipped,
      global: { scrape_interval: '1s', scrape_timeout: '1s' },
      rule_files: [join(FOLDER, shipped.rule_files[0])],
      scrape_configs: [{ job_name: job.job_name, file_sd_configs }],
    }
    await writeFile(join(folder, 'prometheus.yml'), stringify(config))
    const listen = `127.0.0.1:${await freePort()}`
    const args = [
      '--config.file',
      join(folder, 'prometheus.yml'),
      '--storage.tsdb.path',
      join(folder, 'tsdb'),
    ]
    const child = startProcess(PROMETHEUS, [...args, '--log.level=warn', '--web.listen-address', listen], {
      env: {},
    })
    ended.push(() => child.end('SIGKILL'))
    return `http://${listen}`
  }

  function target(name: string, ports: number[], labels: Record<string, string> = {}): Promise<void> {
    const targets = ports.map((port) => `127.0.0.1:${port}`)
    return writeFile(join(folder, `targets-${name}.json`), JSON.stringify([{ targets, labels }]))
  }

  /** How many series the query finds. */
  async function found(query: string): Promise<number> {
    const answer = await fetch(`${prometheus}/api/v1/query?query=${encodeURIComponent(query)}`)
    return answerSchema.parse(await answer.json()).data.result.length
  }

  async function firing(): Promise<string[]> {
    const all = await Promise.all(
      ALERTS.map(async ({ alert, expr }) => ((await found(expr)) > 0 ? [alert] : [])),
    )
    return all.flat()
  }

  it('are files that promtool accepts', () => {
    const check = (...args: string[]) =>
      execFileSync(join(dirname(PROMETHEUS), 'promtool'), args, { encoding: 'utf8' })
    expect(check('check', 'config', join(FOLDER, 'prometheus.yml'))).toContain(`${ALERTS.length} rules found`)
  })

  it(
    'are quiet while all is well, and each rule finds a service in its trouble',
    async () => {
      await expect.poll(() => found('up == 1'), { timeout: patienceFor(10_000) }).toBe(3)
      // A machine that is busy with tests may pause them. The disk is small from the start.
      const told = async () => (await firing()).filter((alert) => alert !== 'CountersignPaused')
      await expect.poll(told, { interval: 500 }).toEqual(MAY_MOUNT ? ['CountersignDiskLow'] : [])
      process.kill(Number(own.child.pid), 'SIGSTOP')
      const stopped = performance.now()
      const caller = await causeTroubles()
      await expect
        .poll(() => performance.now() - stopped, { timeout: patienceFor(10_000) })
        .toBeGreaterThan(7_000)
      process.kill(Number(own.child.pid), 'SIGCONT')
      const sockets: Socket[] = []
      ended.push(async () => sockets.forEach((socket) => void socket.destroy()))
      const seen = new Set<string>()
      const look = async () => {
        await caller.read('req_0000000000000000')
        await askTime()
        // The service closes idle ones. Of its 200 descriptors the last ones are for the scrape.
        for (let open = readdirSync(`/proc/${own.child.pid}/fd`).length; open < 186; open += 1)
          sockets.push(connect(ownPort, 'localhost').on('error', () => undefined))
        for (const alert of await firing()) seen.add(alert)
        return ALERTS.map(({ alert }) => alert).filter((alert) => !seen.has(alert))
      }
      await expect
        .poll(look, { timeout: patienceFor(30_000), interval: 500 })
        .toEqual(MAY_MOUNT ? [] : ['CountersignDiskLow'])
    },
    patienceFor(90_000),
  )

  it('shows something in every panel', async () => {
    const { panels } = dashboardSchema.parse(JSON.parse(text('dashboard.json')))
    const asked = panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr })))
    const empty = async () => {
      const all = await Promise.all(asked.map(async (one) => ((await found(one.expr)) === 0 ? [one] : [])))
      return all.flat()
    }
    await expect.poll(empty, { timeout: patienceFor(10_000), interval: 500 }).toEqual([])
  })

  async function causeTroubles(): Promise<TestCaller> {
    const setting = await setUpOwner(service)
    const { account_id = '' } = (await service.composition.deps.users.find(setting.owner.userId)) ?? {}
    const consumed = await ask(setting)
    await setting.owner.browser.get(`/api/v1/approvals/${consumed}/review`)
    await decideByPasskey(setting, consumed, 'approved')
    await callWithKey(service, setting.key, `/${consumed}/consume`, { action: 'Drop everything' })
    const ago = (ms: number): Date => new Date(Date.now() - ms)
    const old = await ask(setting)
    await alter(service, 'requests', old, { created_at: ago(7_200_000), 'audit.0.at': ago(7_200_000) })
    await alter(service, 'requests', await ask(setting), { expires_at: ago(90_000) })
    const trouble = { platform: 'slack', tenant: 'T1', reason: 'not_installed', since: ago(0) }
    await alter(service, 'accounts', account_id, { chat_troubles: [trouble] })
    const { logs } = service.composition.deps
    await logs.failWitness(1, WITNESS, ago(7_200_000), 'timeout')
    await logs.stop((await logs.current()) ?? expect.unreachable(), ago(0))
    await seal('delivery.exhausted', 'factor.passkey_suspended')
    const caller = await newCaller(away)
    await away.composition.connection.close()
    ahead = -10_000
    await target('gone', [await freePort()])
    await target('other-build', [service.metricsPort ?? 0], { commit: 'other' })
    return caller
  }

  /** What the service does every 30 s, but not in tests. */
  async function askTime(): Promise<void> {
    const { clock } = service.composition.deps
    if ('refresh' in clock && typeof clock.refresh === 'function') await clock.refresh()
  }

  async function seal(...types: AuditType[]): Promise<void> {
    const { trail } = service.composition.deps
    let last = (await trail.head()) ?? GENESIS
    for (const type of types) {
      const entry: AuditEntry = {
        eid: `evt_${type}`,
        type,
        at: new Date(),
        actor: { kind: 'service' },
        subject: 'dlv_1',
      }
      const linked = linkEntry(last, entry, 'aa')
      await trail.insert([linked])
      last = linked
    }
  }
})
