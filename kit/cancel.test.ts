import { describe, expect, it, vi } from 'vitest'
import { abortSignalOf, Cancel, type Canceller } from './cancel.ts'

describe.each<[string, () => Canceller]>([
  ['Cancel', () => new Cancel()],
  ['AbortController', () => new AbortController()],
])('%s', (_name, make) => {
  it('calls each listener once, with the first reason in force', () => {
    const control = make()
    const reasons: unknown[] = []
    const removed = vi.fn()
    for (let i = 0; i < 2; i++)
      control.signal.addEventListener('abort', () => reasons.push(control.signal.reason))
    control.signal.addEventListener('abort', removed)
    control.signal.removeEventListener('abort', removed)
    expect(() => control.signal.throwIfAborted()).not.toThrow()
    control.abort('first')
    control.abort('second')
    expect(reasons).toEqual(['first', 'first'])
    expect(removed).not.toHaveBeenCalled()
    expect(control.signal).toMatchObject({ aborted: true, reason: 'first' })
    expect(() => control.signal.throwIfAborted()).toThrow('first')
  })

  it('calls no listener that comes too late', () => {
    const control = make()
    control.abort('now')
    const late = vi.fn()
    control.signal.addEventListener('abort', late)
    control.abort('again')
    expect(late).not.toHaveBeenCalled()
  })

  it('has an AbortSignal that follows it', () => {
    const early = make()
    const signal = abortSignalOf(early.signal)
    expect(signal.aborted).toBe(false)
    early.abort('gone')
    expect(signal).toMatchObject({ aborted: true, reason: 'gone' })
    expect(abortSignalOf(early.signal)).toMatchObject({ aborted: true, reason: 'gone' })
  })
})
