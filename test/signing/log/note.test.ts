import { describe, expect, it } from 'vitest'
import { fromBase64 } from '../../../src/signing/base64.ts'
import { publicKeyOf, rawSign } from '../../../src/signing/ed25519-node.ts'
import {
  checkpointText,
  formatProof,
  openCheckpoint,
  parseCheckpointText,
  parseProof,
} from '../../../src/signing/log/checkpoint.ts'
import {
  COSIGNATURE,
  cosignatureBytes,
  formatNote,
  formatVkey,
  LOG_SIGNATURE,
  type NoteKeyType,
  noteKey,
  parseNote,
  parseVkey,
  signatureLine,
  signedBytes,
  verifyNote,
} from '../../../src/signing/log/note.ts'
import { parsePolicy, quorumMet } from '../../../src/signing/log/policy.ts'

/** Of the specification (C2SP signed-note, "Verifier keys"). */
const SPEC_VKEY = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'
const SPEC_NOTE =
  'This is an example message.\n\n— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n'
/** Of Go's golang.org/x/mod/sumdb/note, its key and its example. */
const GO_VKEY = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW'
const GO_NOTE = `If you think cryptography is the answer to your problem,
then you don't know what your problem is.

— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=
`

const TEXT = 'example.com/log\n3\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n'

async function keyOf(name: string, type: NoteKeyType = LOG_SIGNATURE, fill = 7) {
  const seed = new Uint8Array(32).fill(fill)
  const key = await noteKey(name, type, publicKeyOf(seed))
  const sign = (text: string, time?: number) => {
    const signature = rawSign(signedBytes(text, time), seed)
    return { name, id: key.id, bytes: time === undefined ? signature : cosignatureBytes(time, signature) }
  }
  return { key, sign }
}

describe('a signed note', () => {
  it.each([SPEC_VKEY, GO_VKEY])('has the verifier key %s', async (vkey) => {
    expect(formatVkey(await parseVkey(vkey))).toBe(vkey)
  })

  it.each([
    ['another id', SPEC_VKEY.replace('530d', '530e')],
    ['an id in capitals', SPEC_VKEY.replace('530d903a', '530D903A')],
    ['another name', SPEC_VKEY.replace('foo', 'fop')],
    ['no name', SPEC_VKEY.replace('example.com/foo', '')],
    ['a type of the future', 'a+00000000+Bukyrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'],
    ['a short key', 'a+00000000+Afw='],
    ['a newline behind it', `${SPEC_VKEY}\n`],
    ['base64 in another spelling', SPEC_VKEY.replace(/k$/, 'l')],
    ['the key that everything verifies under', `a+00000000+AQEA${'A'.repeat(40)}=`],
  ])('has no verifier key with %s', async (_, vkey) => {
    await expect(parseVkey(vkey)).rejects.toThrow(expect.objectContaining({ name: 'NoteError' }))
  })

  it.each([
    [SPEC_NOTE, SPEC_VKEY],
    [GO_NOTE, GO_VKEY],
  ])('of others is read, verified and written again: %j', async (text, vkey) => {
    const note = parseNote(text)
    const key = await parseVkey(vkey)
    expect(await verifyNote(note, [key])).toStrictEqual([{ key }])
    expect(formatNote(note)).toBe(text)
  })

  it('with no byte as it was is refused, or has no signature of the key', async () => {
    const key = await parseVkey(GO_VKEY)
    const outcome = (note: string) =>
      Promise.resolve()
        .then(() => verifyNote(parseNote(note), [key]))
        .then(({ length }) => length)
        .catch((error: Error) => error.name)
    expect(await outcome(GO_NOTE)).toBe(1)
    for (let at = 0; at < GO_NOTE.length; at += 1) {
      const changed = String.fromCharCode(GO_NOTE.charCodeAt(at) ^ 1)
      const note = GO_NOTE.slice(0, at) + changed + GO_NOTE.slice(at + 1)
      expect([0, 'NoteError'], `${at} ${JSON.stringify(changed)}`).toContain(await outcome(note))
    }
  })

  it.each([
    ['no signature', 'text\n'],
    ['no text', `\n\n${signatureLine({ name: 'a', id: '00000000', bytes: new Uint8Array(9) })}`],
    ['no last newline', GO_NOTE.slice(0, -1)],
    ['a control character', GO_NOTE.replace('If', '\tIf')],
    ['half a character', GO_NOTE.replace('If', '\ud800')],
    ['two spaces', GO_NOTE.replace('— ', '—  ')],
    ['a hyphen', GO_NOTE.replace('—', '-')],
    ['a name with "+"', GO_NOTE.replace('— Peter', '— Peter+')],
    ['base64 without padding', GO_NOTE.replace('nAM=', 'nAM')],
    ['base64 in another spelling', GO_NOTE.replace('nAM=', 'nAN=')],
    ['nothing behind the key id', `text\n\n— a ${Buffer.alloc(4).toString('base64')}\n`],
    ['a line of another kind behind', `${GO_NOTE}more\n`],
    ['65 signatures', `${GO_NOTE}${GO_NOTE.split('\n\n')[1]?.repeat(64)}`],
  ])('with %s is refused', (_, note) => {
    expect(() => parseNote(note)).toThrow(expect.objectContaining({ name: 'NoteError' }))
  })

  it('may have 16 signatures and more, of keys that nobody knows', async () => {
    const known = await keyOf('example.com/log')
    const others = Array.from({ length: 40 }, (_, at) => ({
      name: at % 2 === 0 ? 'example.com/log' : `w${at}`,
      // The same name or the same id, but not both, is another key.
      id: at % 2 === 0 ? `0000000${at % 10}` : known.key.id,
      bytes: new Uint8Array(at % 3 === 0 ? 2_420 : 64),
    }))
    const note = formatNote({ text: TEXT, signatures: [...others, known.sign(TEXT)] })
    expect(await verifyNote(parseNote(note), [known.key])).toStrictEqual([{ key: known.key }])
    expect(formatNote(parseNote(note))).toBe(note)
  })
})

describe('a checkpoint', () => {
  it('is opened with its cosignatures and their times', async () => {
    const [log, w1, w2] = await Promise.all([
      keyOf('example.com/log'),
      keyOf('w1.example', COSIGNATURE, 1),
      keyOf('w2.example', COSIGNATURE, 2),
    ])
    const time = 1_679_315_147
    const note = formatNote({
      text: TEXT,
      signatures: [log.sign(TEXT), w1.sign(TEXT, time), w2.sign(TEXT, 5)],
    })
    const opened = await openCheckpoint(note, log.key, [w1.key])
    expect(opened).toMatchObject({ origin: 'example.com/log', size: 3 })
    expect(opened.cosignatures).toStrictEqual([{ key: w1.key, time }])
    expect(checkpointText(opened)).toBe(TEXT)
    // A cosignature is no log signature, and no log signature is a cosignature.
    const asLog = await noteKey('example.com/log', COSIGNATURE, log.key.publicKey)
    await expect(openCheckpoint(note, asLog)).rejects.toThrow('did not sign')
    const other = await keyOf('example.com/other')
    await expect(openCheckpoint(note, other.key)).rejects.toThrow('of another log')
    const wrong = {
      ...w1.sign(TEXT, time),
      bytes: w1.sign(TEXT, time + 1).bytes.map((b, at) => (at === 7 ? b ^ 1 : b)),
    }
    const forged = formatNote({ text: TEXT, signatures: [log.sign(TEXT), wrong] })
    await expect(openCheckpoint(forged, log.key, [w1.key])).rejects.toThrow('does not hold')
    expect((await openCheckpoint(forged, log.key)).cosignatures).toStrictEqual([])
  })

  it.each([
    ['an extension line', `${TEXT}more\n`],
    ['a size with a zero before', TEXT.replace('\n3\n', '\n03\n')],
    ['a size beyond exact numbers', TEXT.replace('\n3\n', '\n9007199254740992\n')],
    ['a short root', TEXT.replace('CsUY', '')],
    ['a root in another spelling', TEXT.replace('2I=', '2J=')],
    ['no origin', TEXT.replace('example.com/log', '')],
    ['no last newline', TEXT.slice(0, -1)],
  ])('with %s is refused', (_, text) => {
    expect(() => parseCheckpointText(text)).toThrow(expect.objectContaining({ name: 'NoteError' }))
  })
})

describe('a proof', () => {
  const PROOF = `c2sp.org/tlog-proof@v1
extra YWJj
index 73894
gSKyXoYZUgZ6jduWYrkDOARinOMGJveXjgMkBTcdPlQ=
B95lDa8R83lS8n0eG+o0buTxRKQTYFi//1U8anccXmA=

${GO_NOTE}`
  const bare = `c2sp.org/tlog-proof@v1\nindex 0\n\n${GO_NOTE}`

  it.each([PROOF, bare])('is read and written again', (text) => {
    expect(formatProof(parseProof(text))).toBe(text)
  })

  it('keeps its parts apart', () => {
    const { index, path, checkpoint, extra } = parseProof(PROOF)
    expect([index, path.length, checkpoint, Buffer.from(extra ?? []).toString()]).toStrictEqual([
      73894,
      2,
      GO_NOTE,
      'abc',
    ])
    expect(path[0]).toStrictEqual(fromBase64('gSKyXoYZUgZ6jduWYrkDOARinOMGJveXjgMkBTcdPlQ='))
    expect(parseProof(bare)).not.toHaveProperty('extra')
  })

  it.each([
    ['another version', bare.replace('@v1', '@v2')],
    ['no index', PROOF.replace('index 73894\n', '')],
    ['an index below zero', bare.replace('index 0', 'index -1')],
    ['an index with a zero before', bare.replace('index 0', 'index 00')],
    ['extra behind the index', PROOF.replace(/(extra .*\n)(index .*\n)/, '$2$1')],
    ['a short hash', PROOF.replace('gSKy', '')],
    ['64 hashes', bare.replace('index 0\n', `index 0\n${`${'A'.repeat(43)}=\n`.repeat(64)}`)],
    ['Windows line ends', bare.replaceAll('\n', '\r\n')],
    ['nothing', ''],
  ])('with %s is refused', (_, text) => {
    expect(() => parseProof(text)).toThrow(expect.objectContaining({ name: 'NoteError' }))
  })
})

describe('a trust policy', () => {
  const names = ['X1', 'X2', 'X3', 'Y1', 'Y2', 'Y3'] as const
  const witnesses = async () =>
    await Promise.all(
      names.map(async (name, at) => (await keyOf(`${name}.example`, COSIGNATURE, at + 1)).key),
    )
  const lines = async () => {
    const log = (await keyOf('example.com/log', LOG_SIGNATURE, 99)).key
    const keys = await witnesses()
    return [
      '# trusted here',
      `log ${formatVkey(log)} https://example.com/log`,
      '',
      ...keys.map((key, at) => `\twitness  ${names[at]} ${formatVkey(key)}`),
      'group X 2 X1 X2 X3',
      'group Y any Y1 Y2 Y3',
      'group X-and-Y all X Y',
      'quorum X-and-Y',
      '',
    ]
  }

  it.each([
    [[], false],
    [['X1', 'X2'], false],
    [['X1', 'Y1'], false],
    [['Y1', 'Y2', 'Y3'], false],
    [['X1', 'X3', 'Y2'], true],
    [['X1', 'X2', 'X3', 'Y1', 'Y2', 'Y3'], true],
  ])('of the specification, cosigned by %j: %s', async (by, met) => {
    const policy = await parsePolicy((await lines()).join('\n'))
    const cosigned = (await witnesses()).filter((_, at) => by.includes(names[at] as string))
    expect(quorumMet(policy, cosigned)).toBe(met)
    expect(policy.logs.map(({ url }) => url)).toStrictEqual(['https://example.com/log'])
  })

  it.each<[string, (line: string) => string, string]>([
    ['no quorum', (line) => line.replace(/^quorum.*/, ''), 'no line "quorum"'],
    ['two', (line) => line.replace(/^quorum.*/, 'quorum none\nquorum none'), 'a second "quorum"'],
    ['an unknown member', (line) => line.replace('any Y1', 'any Z1'), '"Z1" is no witness or group'],
    ['one member twice', (line) => line.replace('any Y1', 'any X1'), '"X1" is a member already'],
    ['a threshold too high', (line) => line.replace('X 2', 'X 4'), 'from 1 to 3'],
    ['a threshold of none', (line) => line.replace('X 2', 'X 0'), 'from 1 to 3'],
    ['a name twice', (line) => line.replace('witness  X2', 'witness X1'), 'the name "X1" is taken'],
    ['the name none', (line) => line.replace('group X 2', 'group none 2'), 'the name "none" is taken'],
    ['a group before its members', (line) => line.replace('# trusted here', 'group Q any X1'), 'line 1 of'],
    ['a log for a witness', (line) => line.replace('log ', 'witness L '), 'signature type 4'],
    ['a line of the future', (line) => line.replace('# trusted', 'mirror'), '"mirror" is none of'],
    ['a control character', (line) => line.replace('# trusted', '# \r'), 'control characters'],
  ])('with %s is refused', async (_, change, problem) => {
    await expect(parsePolicy((await lines()).map(change).join('\n'))).rejects.toThrow(problem)
  })

  it('with one key under two names is refused, or the two would count twice', async () => {
    const [X1, X2] = await witnesses()
    const text = (await lines()).join('\n')
    const again = formatVkey(await noteKey('other.example', COSIGNATURE, X1?.publicKey ?? new Uint8Array()))
    await expect(parsePolicy(text.replace(X2 ? formatVkey(X2) : '', again))).rejects.toThrow(
      'of another witness',
    )
  })

  it('that asks for nobody is met by nobody', async () => {
    expect(quorumMet(await parsePolicy('quorum none'), [])).toBe(true)
  })
})
