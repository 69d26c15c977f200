import { execFile } from 'node:child_process'
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { sha256Hex } from '../../src/signing/digest.ts'
import { openCheckpoint } from '../../src/signing/log/checkpoint.ts'
import { parseVkey } from '../../src/signing/log/note.ts'
import { cli, startCli, useDataDir } from '../support/cli.ts'
import { type DeathPoint, dyingAt } from '../support/die-at.ts'
import { closeServer, listenLocally } from '../support/local-server.ts'
import { type SmallLog, smallLog } from '../support/small-log.ts'

/** A folder with a policy that names these logs, and the witness on it. */
async function useWitness(...logs: Pick<SmallLog, 'vkey'>[]) {
  const { folder } = await useDataDir()
  const [policy, data] = [join(folder, 'logs.txt'), join(folder, 'witness')]
  await writeFile(policy, [...logs.map(({ vkey }) => `log ${vkey}`), 'quorum none', ''].join('\n'))
  const command = ['witness', '--policy', policy, '--data', data, '--port', '0']
  const start = async (more: readonly string[] = [], death?: DeathPoint) => {
    const running = startCli([...command, '--json', ...more], { env: dyingAt(death) })
    const [line] = await running.line(/^\{.*\}$/m)
    const said: { vkey: string; url: string; logs: string[] } = JSON.parse(line)
    const post = (body: string) => fetch(`${said.url}/add-checkpoint`, { method: 'POST', body })
    const last = ({ origin }: SmallLog) => fetch(`${said.url}/${sha256Hex(origin)}/checkpoint`)
    return { ...running, ...said, post, last }
  }
  return { folder, policy, data, command, start }
}

/** Expects a cosignature over exactly that checkpoint. */
async function expectCosigned(answer: Response, log: SmallLog, note: string, vkey: string): Promise<void> {
  const body = await answer.text()
  expect([answer.status, body]).toEqual([200, expect.stringMatching(/^— \S+ \S+\n$/)])
  const [key, witness] = [await parseVkey(log.vkey), await parseVkey(vkey)]
  const { cosignatures } = await openCheckpoint(note + body, key, [witness])
  expect(cosignatures).toEqual([{ key: witness, time: expect.closeTo(Date.now() / 1000, -2) }])
}

it('cosigns what continues the last checkpoint, and answers everything else as C2SP tlog-witness says', async () => {
  const log = await smallLog('log.example.com/a')
  const [other, unknown] = [await smallLog('log.example.com/b'), await smallLog('log.example.com/c')]
  const { data, start } = await useWitness(log, other)
  const { vkey, logs, post, last, line } = await start(['--name', 'witness.example.com/w'])
  expect(vkey).toMatch(/^witness\.example\.com\/w\+/)
  expect(logs).toEqual([log.origin, other.origin])
  expect((await stat(join(data, 'witness.key'))).mode & 0o777).toBe(0o600)

  expect((await last(log)).status).toBe(404)
  await expectCosigned(await post(log.offer(0, 0)), log, log.checkpoint(0), vkey)
  await expectCosigned(await post(log.offer(0, 5)), log, log.checkpoint(5), vkey)
  await expectCosigned(await post(log.offer(5, 5)), log, log.checkpoint(5), vkey)
  const extended = log.checkpoint(300, 'extension 1\n')
  const cosigned = await post(log.offer(5, 300, extended))
  expect(cosigned.status).toBe(200)
  const line300 = await cosigned.text()
  const shown = await last(log)
  expect([shown.status, await shown.text()]).toEqual([200, extended + line300])

  const forked = await smallLog(log.origin, 100)
  const [, proof = ''] = /^[^\n]*\n(.*?)\n\n/s.exec(log.offer(300, 400)) ?? []
  const wrong: [string, string, number, string?][] = [
    ['no body', '', 400],
    ['no checkpoint', 'old 0\n\n', 400],
    ['an old size with a zero', log.offer(300, 400).replace('old ', 'old 0'), 400],
    ['a hash too short', log.offer(300, 400).replace(proof, 'AAAA'), 400],
    ['64 hashes', log.offer(300, 400).replace(proof, Array(64).fill(proof.slice(0, 44)).join('\n')), 400],
    ['an older size than is claimed', log.offer(301, 300), 400],
    ['an unknown log', unknown.offer(0, 5), 404],
    ['no signature of the log', log.offer(300, 400).replace(/— \S+/, '— someone.example.com'), 403],
    ['a wrong signature', log.offer(300, 400, log.checkpoint(400).replace('\n400\n', '\n401\n')), 403],
    [
      'another log’s signature',
      log.offer(300, 400, log.checkpoint(400).replace(log.origin, other.origin)),
      403,
    ],
    ['an old size of 0', log.offer(0, 400), 409, '300\n'],
    ['an old size that is too large', log.offer(301, 400), 409, '300\n'],
    ['a smaller checkpoint', log.offer(200, 200), 409, '300\n'],
    ['no proof', `old 300\n\n${log.checkpoint(400)}`, 422],
    ['a proof of other sizes', log.offer(300, 400).replace(proof, proof.slice(45)), 422],
    ['a proof where none belongs', `old 0\n${proof}\n\n${other.checkpoint(5)}`, 422],
    ['a forked log', forked.offer(300, 400), 422],
    ['a forked log of that size, by a client that asks for the size', forked.offer(0, 300), 409, '300\n'],
    ['a forked log of that size', forked.offer(300, 300), 409],
    ['too much', `old 0\n\n${'x'.repeat(131_073)}`, 413],
  ]
  for (const [what, body, status, text] of wrong) {
    const answer = await post(body)
    const type = answer.headers.get('content-type')
    const isSize = type === 'text/x.tlog.size'
    expect([what, answer.status, isSize, await answer.text()]).toEqual([
      what,
      status,
      text !== undefined,
      text ?? expect.stringMatching(/^[a-z].*\n$/),
    ])
  }
  expect(await (await last(log)).text()).toBe(extended + line300)
  await line(/forked: it signed two roots for one size[\s\S]*log\.example\.com\/a\n300\n/)
  await expectCosigned(await post(log.offer(300, 400)), log, log.checkpoint(400), vkey)
}, 60_000)

it('killed before it stored a checkpoint, or before it answered, cosigns one history', async () => {
  const [log, other] = [await smallLog('log.example.com/killed'), await smallLog('log.example.com/killed', 3)]
  const { start } = await useWitness(log)
  const state = { collection: 'witnessed', field: 'note' }
  const unstored = await start([], { ...state, side: 'before' })
  await expect(unstored.post(log.offer(0, 5))).rejects.toThrow('fetch failed')
  await unstored.stop('SIGKILL')

  const unanswered = await start([], { ...state, side: 'after' })
  expect((await unanswered.last(log)).status).toBe(404)
  await expect(unanswered.post(other.offer(0, 5))).rejects.toThrow('fetch failed')
  await unanswered.stop('SIGKILL')

  const { post, last, vkey } = await start()
  expect(await (await last(log)).text()).toContain(other.checkpoint(5))
  const statuses = [log.offer(0, 5), log.offer(5, 5), log.offer(5, 6)].map(
    async (offer) => (await post(offer)).status,
  )
  expect(await Promise.all(statuses)).toEqual([409, 409, 422])
  await expectCosigned(await post(other.offer(5, 6)), other, other.checkpoint(6), vkey)
}, 120_000)

const JUDGE = process.env.WITNESS_JUDGE
if (JUDGE === undefined) console.warn('WITNESS_JUDGE is not set: the log of Tessera is skipped (.ci/run)')

it.skipIf(JUDGE === undefined)(
  'cosigns a log that Tessera keeps, at every size, and refuses a second history of it',
  async () => {
    const run = async (...args: string[]) => (await promisify(execFile)(JUDGE ?? '', args)).stdout
    const [secret = '', vkey = ''] = (await run()).split('\n')
    const { start, folder } = await useWitness({ vkey })
    const witness = await start()
    const published = await run(witness.url, witness.vkey, secret, join(folder, 'tessera'))
    const [refusal = '', ...sizes] = published.trimEnd().split('\n').toReversed()
    expect(sizes.toReversed()).toEqual(['1', '2', '3', '7', '8', '255', '256', '257', '700'])
    expect(refusal).toContain('says that the consistency proof is bad: 422')

    const files = createServer((request, response) => {
      const path = join(folder, 'tessera', request.url ?? '')
      readFile(path).then(
        (bytes) => response.end(bytes),
        () => response.writeHead(404).end(),
      )
    })
    onTestFinished(() => closeServer(files))
    const trust = join(folder, 'trust.policy')
    await writeFile(trust, `log ${vkey}\nwitness w ${witness.vkey}\nquorum w\n`)
    const state = join(folder, 'state.json')
    const address = `${await listenLocally(files)}/log`
    const monitor = await cli(['log', 'monitor', address, '--policy', trust, '--state', state, '--json'])
    expect(monitor.json()).toMatchObject({ ok: true, size: 700 })
  },
  60_000,
)

it('cosigns one of many checkpoints that are offered for one size at once', async () => {
  const log = await smallLog('log.example.com/raced')
  const branches = await Promise.all([1, 2, 3, 4, 5, 6].map((at) => smallLog(log.origin, at)))
  const { start } = await useWitness(log)
  const { post } = await start()
  const statuses = await Promise.all(branches.map(async (branch) => (await post(branch.offer(0, 10))).status))
  expect(statuses.toSorted()).toEqual([200, 409, 409, 409, 409, 409])
}, 60_000)

it('starts on no folder that is in use, half gone, or another’s', async () => {
  const log = await smallLog('log.example.com/d')
  const { folder, policy, data, command, start } = await useWitness(log)
  const refused = async (args = command) => {
    const { code, stdout, error } = await cli([...args, '--json'])
    expect([code === 0, stdout]).toEqual([false, ''])
    return error()
  }
  const witness = await start()
  expect(await refused()).toEqual({ error: 'data_dir_in_use', message: expect.stringContaining('stop it') })
  expect((await witness.post(log.offer(0, 3))).status).toBe(200)
  expect(await witness.stop()).toBe(0)

  const again = await start()
  expect(again.vkey).toBe(witness.vkey)
  expect((await again.post(log.offer(0, 4))).status).toBe(409)
  await again.stop()
  expect(await refused([...command, '--name', 'other'])).toEqual({
    error: 'usage',
    message: expect.stringMatching(/is named countersign-witness\/[0-9a-f]{8}; leave --name out/),
  })

  const [key, store] = ['witness.key', 'store.db'].map((name) => join(data, name)) as [string, string]
  const text = await readFile(key, 'utf8')
  for (const [change, message] of [
    [() => rename(store, `${store}.away`), /its state is gone: .* second history\. Put store\.db back/],
    [() => rename(`${store}.away`, store).then(() => rename(key, `${key}.away`)), /witness\.key is missing/],
    [() => writeFile(key, '{}'), /witness\.key is damaged; put it back/],
    [
      () => writeFile(key, text.replace(/"seed":".{4}/, '"seed":"AAAA')),
      /witness\.key is not the key of the state in .*; put back the file/,
    ],
    [() => writeFile(join(data, 'secrets.json'), '{}'), /belongs to a service; name another folder/],
  ] as const) {
    await change()
    expect((await refused()).message).toMatch(message)
  }

  await mkdir(join(folder, 'free'))
  const elsewhere = ['witness', '--policy', policy, '--data', join(folder, 'free')]
  for (const [args, message] of [
    [[...elsewhere, '--port', '65536'], /--port must be a number/],
    [[...elsewhere, '--name', 'two words'], /--name: a key name has no spaces/],
    [[...elsewhere, '--listen', '192.0.2.1'], /^--listen: 192\.0\.2\.1 is not an address of this machine/],
    [['witness', '--policy', join(folder, 'none'), '--data', data], /cannot be read: there is no such file/],
  ] as const)
    expect((await refused([...args])).message).toMatch(message)
  await writeFile(policy, 'quorum none\n')
  expect((await refused(elsewhere)).message).toMatch(/names no log; add a line "log <vkey>"/)
  await writeFile(policy, `log ${log.vkey}\n`)
  expect((await refused(elsewhere)).message).toMatch(/has no line "quorum"/)
}, 120_000)
