import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { leavesOf } from '../../src/cli/monitor-state.ts'
import { FORKED } from '../../src/cli/remote-log.ts'
import { fromBase64Url, toBase64Url } from '../../src/signing/base64.ts'
import { canonicalize } from '../../src/signing/canonical.ts'
import { sha256Hex } from '../../src/signing/digest.ts'
import { publicKeyOf, rawSign } from '../../src/signing/ed25519-node.ts'
import {
  COSIGNATURE,
  cosignatureBytes,
  formatVkey,
  LOG_SIGNATURE,
  noteKey,
  parseNote,
  signatureLine,
  signedBytes,
} from '../../src/signing/log/note.ts'
import { parseTilePath } from '../../src/signing/log/tiles.ts'
import { subjectIn } from '../../src/signing/verify-bundle.ts'
import { makeBundle } from '../support/bundles.ts'
import { cli, cliProcess, useDataDir } from '../support/cli.ts'
import { dyingAt } from '../support/die-at.ts'
import { closeServer, listenLocally } from '../support/local-server.ts'
import { size as times } from '../support/size.ts'
import { type SmallLog, smallLog } from '../support/small-log.ts'

/** A log that goes on for another, whose last checkpoint is said to be `last`. */
interface Next {
  log: SmallLog
  size: number
  last: string
}

/** A server that shows whatever log and size it is told to, cosigned at a time or not at all. */
async function useLog(first: SmallLog) {
  const { folder } = await useDataDir()
  const shown = {
    log: first,
    size: 0,
    /** So long is the log in truth, and it keeps whole tiles only. */
    whole: 0,
    cosignedAt: 0,
    away: false,
    asked: [] as string[],
    next: undefined as Next | undefined,
  }
  const seed = new Uint8Array(32).fill(9)
  const witness = await noteKey('witness.example.com', COSIGNATURE, publicKeyOf(seed))
  const cosigned = (note: string, time: number) => {
    const bytes = cosignatureBytes(time, rawSign(signedBytes(parseNote(note).text, time), seed))
    return note + signatureLine({ ...witness, bytes })
  }
  const server = createServer((request, response) => {
    const { cosignedAt, away, next } = shown
    const path = (request.url ?? '').replace('/log/', '')
    if (!path.startsWith('/')) shown.asked.push(path)
    const { log, size } = path.startsWith('2/') && next !== undefined ? next : shown
    const tile = parseTilePath(path.replace(/^(2\/)?tile\//, ''))
    if (away) response.writeHead(503).end()
    else if (path === '/.well-known/countersign-log' && next !== undefined) {
      const former = [{ origin: shown.log.origin, url: `${url}/log`, checkpoint: next.last }]
      response.end(JSON.stringify({ origin: next.log.origin, url: `${url}/log/2`, former }))
    } else if (/^(2\/)?checkpoint$/.test(path)) {
      const note = log.checkpoint(size)
      response.end(cosignedAt === 0 ? note : cosigned(note, cosignedAt))
    } else if (tile?.level === 0 && (shown.whole === 0 || tile.width === 256)) {
      const start = tile.index * 256
      response.end(
        Buffer.concat(log.leafHashes(Math.max(size, shown.whole)).slice(start, start + tile.width)),
      )
    } else response.writeHead(404).end()
  })
  const url = await listenLocally(server)
  onTestFinished(() => closeServer(server))
  const [state, policy] = [join(folder, 'state.json'), join(folder, 'trust.policy')]
  const trust = (quorum: string, former = '') =>
    writeFile(policy, `${former}log ${first.vkey}\nwitness W ${formatVkey(witness)}\nquorum ${quorum}\n`)
  await trust('none')
  const command = ['log', 'monitor', url, '--state', state, '--policy', policy, '--json']
  const monitor = async (...more: string[]) => {
    shown.asked = []
    const run = await cli([...command, ...more])
    if (run.code === 2) return [2, run.error().error, run.error().message]
    const bad = run.json().checks.filter(({ ok }: { ok: boolean }) => !ok)
    return [run.code, ...bad.flatMap(({ check, message }: Record<string, string>) => [check, message])]
  }
  return { folder, state, command, shown, trust, monitor }
}

it('follows a log that only grows, and says of every other what it did', async () => {
  const log = await smallLog('log.example.com/m')
  const { state, command, shown, trust, monitor } = await useLog(log)
  shown.size = 600
  expect(await monitor()).toEqual([0])
  expect(shown.asked).toEqual(['checkpoint', 'tile/0/000', 'tile/0/001', 'tile/0/002.p/88'])
  const still = { check: 'append_only', ok: true, message: 'still 600 entries' }
  expect((await cli(command)).json().checks).toContainEqual(still)
  shown.size = 700
  const former = await noteKey(log.origin, LOG_SIGNATURE, publicKeyOf(new Uint8Array(32).fill(8)))
  await trust('none', `log ${formatVkey(former)}\n`)
  shown.whole = 768
  expect(await monitor()).toEqual([0])
  expect(shown.asked).toEqual(['checkpoint', 'tile/0/002.p/188', 'tile/0/002'])
  shown.whole = 0

  const seen = await readFile(state, 'utf8')
  shown.size = 650
  expect(await monitor()).toEqual([1, 'append_only', expect.stringMatching(/something hides the newest$/)])
  shown.log = await smallLog(log.origin, 300)
  for (const size of [650, 700, 800]) {
    shown.size = size
    expect(await monitor()).toEqual([1, 'append_only', expect.stringContaining(FORKED)])
    expect(await readFile(`${state}.fork`, 'utf8')).toBe(shown.log.checkpoint(size))
  }
  expect(await readFile(state, 'utf8')).toBe(seen)
  const other = await smallLog('log.example.com/n')
  shown.log = other
  expect(await monitor()).toEqual([
    1,
    'signature',
    expect.stringMatching(/policy does not name; add its line/),
  ])
  shown.log = { ...log, checkpoint: (size) => log.checkpoint(size).replace('\n800\n', '\n801\n') }
  expect(await monitor()).toEqual([1, 'signature', expect.stringMatching(/signature of .* does not hold/)])
  shown.away = true
  expect(await monitor()).toEqual([2, 'log_unreachable', expect.stringMatching(/answered 503; try again/)])
  Object.assign(shown, { away: false, log })

  await trust('W')
  expect(await monitor()).toEqual([
    1,
    'witnesses',
    expect.stringMatching(/^no witness .* less than the policy/),
  ])
  shown.cosignedAt = Math.floor(Date.now() / 1000) - 3 * 3600
  expect(await monitor()).toEqual([0])
  expect(await monitor('--max-age', '2')).toEqual([1, 'age', 'last cosigned 180 min ago, more than 2 h'])
  const wrong = [1, 'age', 'cosigned 60 min in the future; a clock is wrong']
  shown.cosignedAt = Math.floor(Date.now() / 1000) + 3600
  expect(await monitor()).toEqual(wrong)
  await rm(leavesOf(state, log.origin))
  expect(await monitor()).toEqual([
    2,
    'usage',
    expect.stringMatching(/no whole state .* put them back, or name/),
  ])
}, 60_000)

it('killed before any step of writing down what it saw, goes on from the last run that ended', async () => {
  const log = await smallLog('log.example.com/k')
  const { state, command, shown, monitor } = await useLog(log)
  const killed = async (step: number) => (await cliProcess(command, { env: dyingAt({ step }) })).code === null
  let steps = 0
  for (let size = 300; steps === 0 || (await killed(steps)); size += 40) {
    shown.size = size
    expect([steps, await monitor()]).toEqual([steps, [0]])
    expect(JSON.parse(await readFile(state, 'utf8')).checkpoint).toBe(log.checkpoint(size))
    shown.size = size + 30
    steps += times(3, 1)
  }
  expect(steps).toBeGreaterThan(7)
  shown.log = await smallLog(log.origin, 299)
  await killed(1)
  expect(await monitor()).toEqual([1, 'append_only', expect.stringMatching(/^the log has forked/)])
  const proof = await readFile(`${state}.fork`, 'utf8')
  // An older checkpoint is no proof, and must not take the place of one.
  Object.assign(shown, { log, size: 200 })
  expect(await monitor()).toEqual([1, 'append_only', expect.stringMatching(/something hides the newest$/)])
  expect(await readFile(`${state}.fork`, 'utf8')).toBe(proof)
}, 180_000)

it('looks for each receipt at its place, and for decisions that have none', async () => {
  const { bundle } = await makeBundle({ leaves: 0 })
  const record = toBase64Url(new Uint8Array(32).fill(5))
  const subject = sha256Hex(await subjectIn(bundle))
  const entry = Buffer.concat([fromBase64Url(record), Buffer.from(subject, 'hex')])
  const origin = 'log.example.com/r'
  const log = await smallLog(origin, undefined, new Map([[7, entry]]))
  const { folder, shown, monitor } = await useLog(log)
  const [receipts, audit] = [join(folder, 'receipts'), join(folder, 'audit.ndjson')]
  await mkdir(receipts)
  const look = () => monitor('--receipts', receipts)
  const hold = (name: string, value: object) => writeFile(join(receipts, name), canonicalize(value))
  shown.size = 20
  expect(await look()).toEqual([2, 'usage', expect.stringMatching(/has no bundle; name the folder with/)])
  await hold('a.json', { ...bundle, log: { record, proof: log.place(7, 10) } })
  expect(await look()).toEqual([0])
  const { rid } = JSON.parse(bundle.intent)
  const line = (type: string, subject: string, id = 'usr_1') =>
    `${JSON.stringify({ seq: 8, type, subject, actor: { kind: 'user', id } })}\n`
  const mine = () => monitor('--receipts', receipts, '--mine', 'usr_1', '--audit', audit)
  const others = line('approval.approved', 'req_b', 'usr_2') + line('approval.rejected', 'req_c', 'usr_2')
  // A vote that did not decide, and one against the outcome, were never signed.
  const unsigned = line('approval.voted', 'req_c') + line('approval.voted', 'req_pending')
  await writeFile(audit, line('approval.approved', rid) + others + unsigned)
  expect(await mine()).toEqual([0])
  await writeFile(audit, others + line('approval.voted', 'req_b') + line('approval.rejected', 'req_d'))
  expect(await mine()).toEqual([
    1,
    'mine',
    expect.stringMatching(/^no receipt is held for 2 decisions of usr_1: req_b, req_d; if that was not you/),
  ])
  await writeFile(audit, 'no json')
  expect(await mine()).toEqual([2, 'usage', expect.stringMatching(/is no entry of an audit log; download/)])

  for (const [change, message] of [
    [bundle, /has no place in a log; get it again with \?log=logged/],
    [{ ...bundle, log: { record, proof: log.place(7, 30) } }, undefined],
    [{ ...bundle, log: { record, proof: log.place(8, 30) } }, /is not in the tree of its checkpoint/],
    [{ format: 'countersign.receipt/v9' }, /is not a bundle of the format/],
    ['{"status":"approved","decision":{}}', /^.*b\.json: .* download that with GET …\/receipt,/],
  ] as const) {
    await (typeof change === 'string' ? writeFile(join(receipts, 'b.json'), change) : hold('b.json', change))
    expect(await look()).toEqual(
      message === undefined ? [0] : [1, 'receipts', expect.stringMatching(message)],
    )
  }
  await rm(join(receipts, 'b.json'))
  // The log ended; another one goes on for it, and has the same record one place later.
  for (const [at, found] of [
    [8, [0]],
    [9, [1, 'receipts', expect.stringMatching(/it is in the log log.example.com\/r, and not in this one/)]],
  ] as const) {
    const renewed = await useLog(await smallLog(`${origin}/log/2`, undefined, new Map([[at, entry]])))
    renewed.shown.size = 20
    expect(await renewed.monitor('--receipts', receipts)).toEqual(found)
  }
  // The monitor saw 30 entries; then the store was put back to 25, and the receipt is of one of those that it lost.
  const lossy = await smallLog(origin, undefined, new Map([[27, entry]]))
  const last = lossy.checkpoint(30)
  const again = Array.from({ length: 25 }, (_, at) => [at + 1, Buffer.from(`entry ${at}`)] as const)
  const next = await smallLog(`${origin}/log/2`, undefined, new Map([[0, Buffer.from(last)], ...again]))
  const ended = await useLog(lossy)
  await ended.trust('none', `log ${next.vkey}\n`)
  ended.shown.size = 30
  expect(await ended.monitor()).toEqual([0])
  Object.assign(ended.shown, { size: 25, next: { log: next, size: 40, last } })
  await hold('a.json', { ...bundle, log: { record, proof: lossy.place(27, 29) } })
  const [json, text] = [ended.command, ended.command.slice(0, -1)]
  for (const state of [ended.state, join(folder, 'of-a-new-monitor.json')]) {
    const run = await cli([...json, '--receipts', receipts, '--state', state])
    const [, lost] = run.json().checks.filter(({ check }: { check: string }) => check === 'receipts')
    expect([run.code, lost.ok, lost.lost]).toEqual([0, true, true])
  }
  expect((await cli([...text, '--receipts', receipts])).stdout).toMatch(
    /^LOST {2}receipts {5}\S+a\.json: was entry 27 of the log log\.example\.com\/r, which ended with 30 entries; the restore lost it/m,
  )
  const fork = await smallLog(origin, undefined, new Map([[28, entry]]))
  for (const [proof, size, why] of [
    [lossy.place(27, 31), 25, /; it signed 31 entries, but is said to have ended with 30; ask its operator$/],
    [lossy.place(27, 30), 28, /, though the copy that was put back had it$/],
    [fork.place(28, 30), 25, /, and was not seen there$/],
  ] as const) {
    ended.shown.size = size
    await hold('a.json', { ...bundle, log: { record, proof } })
    expect(await ended.monitor('--receipts', receipts)).toEqual([1, 'receipts', expect.stringMatching(why)])
  }
  ended.shown.next = { log: next, size: 40, last: lossy.checkpoint(29) }
  expect(await ended.monitor('--receipts', receipts)).toEqual([
    1,
    'receipts',
    expect.stringMatching(/; what is said to be its last checkpoint is not the first entry of the next$/),
  ])
  await hold('a.json', { ...bundle, log: { record, proof: log.place(7, 10) } })
  // A service that signed a decision, proved it to one, and showed the others a log without it.
  const hidden = await useLog(await smallLog(origin))
  hidden.shown.size = 20
  expect(await hidden.monitor('--receipts', receipts)).toEqual([
    1,
    'receipts',
    expect.stringMatching(/place 7 of the log holds something else/),
  ])
  hidden.shown.size = 21
  const late = await smallLog(origin, undefined, new Map([[25, entry]]))
  await hold('a.json', { ...bundle, log: { record, proof: late.place(25, 26) } })
  expect(await hidden.monitor('--receipts', receipts)).toEqual([
    1,
    'receipts',
    expect.stringMatching(/its place 25 is behind the checkpoint; run this again/),
  ])
}, 60_000)

it('follows a log to the one that goes on for it, unless that is not so', async () => {
  const log = await smallLog('log.example.com/m')
  const { folder, state, shown, trust, monitor } = await useLog(log)
  /** The entries of the old log again, as far as they differ not, behind a checkpoint. */
  const nextOf = (last: string, until = 25, of = log.origin) =>
    smallLog(
      `${of}/log/2`,
      undefined,
      new Map([
        [0, Buffer.from(last)],
        ...Array.from({ length: until }, (_, at) => [at + 1, Buffer.from(`entry ${at}`)] as const),
      ]),
    )
  const last = log.checkpoint(30)
  const good = await nextOf(last)
  await trust('none', `log ${good.vkey}\n`)
  shown.size = 30
  expect(await monitor()).toEqual([0])
  const seen = await readFile(state, 'utf8')
  // Its store was put back to 25 entries.
  shown.size = 25
  const how = `${log.origin} ended with 30 entries and goes on as ${good.origin}; `
  const forked = (await smallLog(log.origin, 3)).checkpoint(30)
  const other = await smallLog('log.example.com/n')
  for (const [next, message] of [
    [
      { log: await nextOf(log.checkpoint(29)), size: 40, last },
      `${how}the first entry there is not its last`,
    ],
    [{ log: await nextOf(last, 24), size: 40, last }, `${how}its entry 24 is another one there`],
    [
      { log: await nextOf(log.checkpoint(29)), size: 40, last: log.checkpoint(29) },
      `${how.replace('30', '29')}30 were seen before`,
    ],
    [{ log: await nextOf(forked), size: 40, last: forked }, `${how}${FORKED}`],
    [
      { log: good, size: 40, last: last.replace('30', '31') },
      `${log.origin} ended, and of its last checkpoint: the checkpoint cannot be trusted`,
    ],
    [
      { log: good, size: 40, last: other.checkpoint(30) },
      `${log.origin} ended, and of its last checkpoint: the checkpoint is of the log ${other.origin}`,
    ],
    [{ log: other, size: 40, last }, `; the checkpoint is of the log ${other.origin}`],
  ] as const) {
    shown.next = next
    expect(await monitor()).toEqual([1, 'renewed', expect.stringContaining(message)])
  }
  expect(await readFile(state, 'utf8')).toBe(seen)
  for (const size of [20, 40, 50]) {
    shown.next = { log: good, size, last }
    expect(await monitor()).toEqual([0])
  }
  expect(shown.asked).toEqual(['2/checkpoint', '2/tile/0/000.p/50'])
  expect((await readdir(folder)).sort()).toEqual(
    ['state.json', 'state.json.2.leaves', 'state.json.leaves', 'trust.policy'].sort(),
  )
}, 60_000)
