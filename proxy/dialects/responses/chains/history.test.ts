import { expect, test } from 'vitest'
import { historyOf } from './history.ts'

const user = (text: string) => `{"type":"message","role":"user","content":"${text}"}`
const said = (text: string) => `{"type":"message","role":"assistant","content":"${text}"}`
const compaction = (text: string) => `{"type":"compaction","encrypted_content":"${text}"}`

test('everything, in its order', () => {
  const exchanges = [
    { input: [user('1'), user('2')], output: [said('3')] },
    { input: [], output: [said('4')] },
    { input: [user('5')], output: [] },
  ]
  expect(historyOf(exchanges)).toEqual([user('1'), user('2'), said('3'), said('4'), user('5')])
  expect(historyOf([])).toEqual([])
})

test('the newest compaction of an answer stands for all before it', () => {
  const exchanges = [
    { input: [user('1')], output: [compaction('older')] },
    { input: [user('2')], output: [said('3'), compaction('newer'), said('4')] },
    { input: [user('5')], output: [said('6')] },
  ]
  expect(historyOf(exchanges)).toEqual([compaction('newer'), said('4'), user('5'), said('6')])
})

test('one that a client sends stands among what it keeps', () => {
  const kept = '{"type":"message","role":"developer","content":"Never do that"}'
  const exchanges = [{ input: [kept, compaction('c'), user('1')], output: [said('2')] }]
  expect(historyOf(exchanges)).toEqual([kept, compaction('c'), user('1'), said('2')])
})

test('a text that speaks of one is none', () => {
  const speaks = '{"type":"message","role":"assistant","content":[{"type":"compaction"}]}'
  expect(historyOf([{ input: [user('1')], output: [speaks] }])).toEqual([user('1'), speaks])
})
