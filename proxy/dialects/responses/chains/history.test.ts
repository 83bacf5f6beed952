import { expect, test } from 'vitest'
import { historyOf } from './history.ts'

const user = (text: string) => `{"type":"message","role":"user","content":"${text}"}`
const assistant = (text: string) => `{"type":"message","role":"assistant","content":"${text}"}`
const compaction = (text: string) => `{"type":"compaction","encrypted_content":"${text}"}`

test('all items, in order', () => {
  const exchanges = [
    { input: [user('1'), user('2')], output: [assistant('3')] },
    { input: [], output: [assistant('4')] },
    { input: [user('5')], output: [] },
  ]
  expect(historyOf(exchanges)).toEqual([user('1'), user('2'), assistant('3'), assistant('4'), user('5')])
  expect(historyOf([])).toEqual([])
})

test('the newest compaction in an answer replaces everything before it', () => {
  const exchanges = [
    { input: [user('1')], output: [compaction('older')] },
    { input: [user('2')], output: [assistant('3'), compaction('newer'), assistant('4')] },
    { input: [user('5')], output: [assistant('6')] },
  ]
  expect(historyOf(exchanges)).toEqual([compaction('newer'), assistant('4'), user('5'), assistant('6')])
})

test('a compaction that the client sent replaces nothing', () => {
  const kept = '{"type":"message","role":"developer","content":"Never do that"}'
  const exchanges = [{ input: [kept, compaction('c'), user('1')], output: [assistant('2')] }]
  expect(historyOf(exchanges)).toEqual([kept, compaction('c'), user('1'), assistant('2')])
})

test('a text that mentions a compaction is not one', () => {
  const speaks = '{"type":"message","role":"assistant","content":[{"type":"compaction"}]}'
  expect(historyOf([{ input: [user('1')], output: [speaks] }])).toEqual([user('1'), speaks])
})
