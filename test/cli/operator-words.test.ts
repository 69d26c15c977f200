import { expect, it } from 'vitest'
import { operatorWords } from '../../src/compose/operator-words.ts'

const failing = (message: string, more: object = {}): Error => Object.assign(new Error(message), more)

it.each([
  ['EACCES', 'not_permitted', 'Set DATA_DIR to a folder you may write.'],
  ['EROFS', 'not_permitted', 'Set DATA_DIR to a folder you may write.'],
  ['ENOSPC', 'store_unusable', 'Make room on that disk.'],
  ['ENOENT', 'no_file', 'Check the path.'],
  ['EISDIR', 'no_file', 'Name a file.'],
])('an operator reads what to do about %s', (code, told, advice) => {
  const error = failing(`${code}: open '/data/secrets.json'`, { code })
  expect(operatorWords(error)).toEqual({ code: told, message: `${error.message}. ${advice}` })
})

it('an error that nobody foresaw is told with its stack, and without secrets', () => {
  const { code, message } = operatorWords(failing('no reply from mongodb://app:hunter2@db.example'))
  expect([code, message]).toEqual(['internal_error', expect.stringMatching(/\n +at .*operator-words/)])
  expect(message).toContain('mongodb://app:[redacted]@db.example')
  expect(operatorWords('thrown bare: xoxb-1-2')).toEqual({
    code: 'internal_error',
    message: 'thrown bare: [redacted]',
  })
})
