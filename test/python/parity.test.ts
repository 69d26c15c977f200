import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { packagePath } from '../../src/config/package-path.ts'
import { hasPython, runPython } from './python-suite.ts'

const source = (name: string) => readFileSync(packagePath(`packages/client/src/${name}.ts`), 'utf8')

/** Public names of the client in TypeScript that are spelt otherwise in Python: types of options are the parameters there. */
const SPELT: Readonly<Record<string, string>> = {
  countersign: 'Countersign',
  Client: 'Countersign',
  ClientOptions: 'Countersign.__init__',
  Question: 'Countersign.ask',
  AskOptions: 'Countersign.ask',
  Patience: 'Countersign.resume',
  GuardOptions: 'Countersign.guard',
  ToolOptions: 'Countersign.tool',
  CallOptions: 'Countersign.call',
  Approval: 'Approved',
  UseOptions: 'Approved.use',
  // Python does not type the operations of openapi.json.
  Operations: 'Countersign.call',
  Schemas: 'Countersign.call',
}

/** Options of the client in TypeScript that are spelt otherwise; undefined: Python has its own means. */
const OPTIONS: Readonly<Record<string, string | undefined>> = {
  for: 'for_',
  fetch: 'transport',
  // A task is cancelled, and Ctrl-C ends a wait.
  signal: undefined,
}

/** Names that only Python needs: the second client, a class for each outcome, the types of `transport`, and the decorator. */
const ONLY_PYTHON =
  /^(Async[\w.]+|Approved\.__init__|Was\w+|HasExpired|IsPending|Http(Call|Answer)|Transport|(Async)?Countersign\.requires_approval)$/

const LIST = `
import inspect, json, countersign
found = {}
for name in countersign.__all__:
    value = getattr(countersign, name)
    found[name] = sorted(inspect.signature(value).parameters) if inspect.isclass(value) else []
    if name.endswith(("Countersign", "Approved")):
        for method, run in inspect.getmembers(value, inspect.isfunction):
            if not method.startswith("_") or method == "__init__":
                found[f"{name}.{method}"] = sorted(inspect.signature(run).parameters)
print(json.dumps(found))
`

it.skipIf(!hasPython)('every public name of one client exists in the other', async () => {
  const { out, err } = await runPython(['-c', LIST])
  expect(err).toBe('')
  const python: Record<string, string[]> = JSON.parse(out)

  const exported = [...source('index').matchAll(/\{([^}]*)\}/g)].flatMap(([, list = '']) =>
    list.split(',').flatMap((name) => name.replace('type ', '').trim() || []),
  )
  const wanted = exported.map((name) => SPELT[name] ?? name)
  const methods = members('client', 'Client').map((name) => `Countersign.${name}`)
  expect(exported.length).toBeGreaterThan(25)
  for (const name of [...wanted, ...methods]) expect(Object.keys(python)).toContain(name)
  const more = Object.keys(python).filter((name) => ![...wanted, ...methods].includes(name))
  expect(more.filter((name) => !ONLY_PYTHON.test(name))).toEqual([])
  // Both clients of Python are one surface.
  for (const [name, parameters] of Object.entries(python))
    if (/^(Countersign|Approved)(\.|$)/.test(name)) expect(python[`Async${name}`]).toEqual(parameters)

  expect(python.Attachment).toEqual(members('attachments', 'Attachment').sort())
  const options: [method: string, names: string[]][] = [
    ['Approved.use', [...members('ask', 'UseOptions'), ...members('ask', 'Patience')]],
    ['__init__', members('client', 'ClientOptions')],
    ['ask', [...members('ask', 'Question'), ...members('ask', 'AskOptions'), ...members('ask', 'Patience')]],
    ['resume', ['handle', ...members('ask', 'Patience')]],
    ['guard', ['run', ...members('guard', 'GuardOptions'), ...members('ask', 'AskOptions'), 'withinSeconds']],
    [
      'tool',
      [
        'name',
        'execute',
        ...members('guard', 'ToolOptions'),
        ...members('ask', 'AskOptions'),
        'withinSeconds',
      ],
    ],
    [
      'call',
      ['operation', ...members('client', 'CallOptions'), ...members('client', 'Parts'), 'withinSeconds'],
    ],
  ]
  for (const [method, names] of options) {
    const spelt = names.flatMap((name) => (name in OPTIONS ? (OPTIONS[name] ?? []) : snake(name)))
    const whole = method.includes('.') ? method : `Countersign.${method}`
    expect([method, python[whole]]).toEqual([method, [...new Set(['self', ...spelt])].sort()])
  }
})

it.skipIf(!hasPython)('so does every name of the check of receipts', async () => {
  const code = `
import dataclasses, inspect, json
from countersign import verify
both = {f.name for of in (verify.ValidReceipt, verify.RefusedReceipt) for f in dataclasses.fields(of)}
print(json.dumps([sorted(verify.__all__), sorted(inspect.signature(verify.verify_receipt).parameters), sorted(both)]))`
  const { out, err } = await runPython(['-c', code])
  expect(err).toBe('')
  const exported = [...source('verify').matchAll(/^export (?:interface|type|async function) (\w+)/gm)].map(
    ([, name]) => name,
  )
  const facts = [...source('verify').matchAll(/^ {6}(\w+):/gm)].map(([, name = '']) => snake(name))
  expect(exported).toEqual(['Expected', 'Verdict', 'verifyReceipt'])
  expect(JSON.parse(out)).toEqual([
    // `Expected` is the parameters; each kind of verdict has a class.
    ['RefusedReceipt', 'ValidReceipt', 'Verdict', 'verify_receipt'],
    ['receipt', 'key_set', ...members('verify', 'Expected').map(snake)].sort(),
    [...new Set([...facts, 'code', 'message', 'field'])].sort(),
  ])
})

it.skipIf(!hasPython)('and so does every name of the check of bundles', async () => {
  const code = `
import dataclasses, inspect, json
from countersign import bundle
both = {f.name for of in (bundle.GoodBundle, bundle.RefusedBundle) for f in dataclasses.fields(of)}
print(json.dumps([sorted(bundle.__all__), sorted(inspect.signature(bundle.verify_bundle).parameters), sorted(both)]))`
  const { out, err } = await runPython(['-c', code])
  expect(err).toBe('')
  const facts = [...source('bundle').matchAll(/^ {6}(\w+)\??:/gm)].map(([, name = '']) => snake(name))
  expect(JSON.parse(out)).toEqual([
    ['BundleCheck', 'BundleVerdict', 'GoodBundle', 'RefusedBundle', 'verify_bundle'],
    [
      ...['bundle', 'key_set', 'policy'],
      ...[...members('verify', 'Expected'), ...members('bundle', 'ExpectedBundle')].map(snake),
    ].sort(),
    [...new Set([...facts, 'code'])].sort(),
  ])
})

/** The members of an interface of the client. */
function members(file: string, name: string): string[] {
  const [, body = ''] =
    new RegExp(`interface ${name}\\b[^{]*\\{\\n([\\s\\S]*?)^\\}`, 'm').exec(source(file)) ?? []
  return [...body.matchAll(/^ {2}(\w+)[?(<:]/gm)].map(([, member = '']) => member)
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
