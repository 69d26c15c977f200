import { beforeEach, expect, it } from 'vitest'
import { type SeldomWarning, warnSeldom } from '../../../src/ports/warn-seldom.ts'

let time = 0
let lines: [object, string][]
let warning: SeldomWarning
beforeEach(() => {
  lines = []
  const log = { warn: (fields: object, message: string) => void lines.push([fields, message]) }
  warning = warnSeldom(log, 'it failed', () => time)
})

const failAt = (ms: number): void => {
  time = ms
  warning.failed(`error at ${ms}`)
}

it('tells the first failure at once and then one in ten seconds, with how many there were since', () => {
  for (let ms = 0; ms <= 20_000; ms += 100) failAt(ms)
  expect(lines).toEqual([
    [{ error: 'error at 0', times: 1 }, 'it failed'],
    [{ error: 'error at 10000', times: 100 }, 'it failed'],
    [{ error: 'error at 20000', times: 100 }, 'it failed'],
  ])
})

it('tells the next failure at once after it worked again', () => {
  for (const ms of [0, 1, 2]) failAt(ms)
  warning.worked()
  for (const ms of [3, 4]) failAt(ms)
  expect(lines.map(([fields]) => fields)).toEqual([
    { error: 'error at 0', times: 1 },
    { error: 'error at 3', times: 1 },
  ])
})

it('says nothing while all works', () => {
  for (let i = 0; i < 3; i += 1) warning.worked()
  expect(lines).toEqual([])
})
