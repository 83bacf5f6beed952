import { describe, expect, it } from 'vitest'
import { CHANNEL_TYPES } from './apis.ts'
import { EFFORTS } from './features.ts'
import { featuresOf, PROFILES } from './profiles.ts'

describe('features', () => {
  it('are those of a plain upstream of the type without a profile', () => {
    expect(featuresOf('chat_completion', undefined)).toEqual({
      streamUsage: true,
      finishReason: true,
      embeddings: true,
      images: true,
      maxCompletionTokens: false,
      developerRole: false,
      sampling: true,
      reasoning: 'Effort',
      efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
      reasoningHistory: 'CurrentTurn',
      structuredOutput: true,
      customTools: false,
      webSearch: false,
      systemTurns: false,
      prefill: false,
      cacheMarks: false,
      nullContent: true,
      speed: false,
      compaction: false,
    })
    expect(featuresOf('responses', undefined)).toMatchObject({
      customTools: true,
      webSearch: true,
      compaction: true,
    })
    // A version of the messages API forbids sampling and prefill; cache markers are older.
    expect(featuresOf('messages', undefined)).toMatchObject({
      embeddings: false,
      images: false,
      sampling: false,
      reasoning: 'Adaptive',
      prefill: false,
      cacheMarks: true,
    })
  })

  it.each([
    ['openai', 'chat_completion', { maxCompletionTokens: true, reasoning: 'None', sampling: true }],
    ['openai-reasoning', 'chat_completion', { developerRole: true, reasoning: 'Effort', sampling: false }],
    ['anthropic', 'messages', { reasoning: 'Budget', sampling: true, prefill: true, systemTurns: false }],
    ['anthropic-adaptive', 'messages', { reasoning: 'Adaptive', prefill: false, systemTurns: true }],
  ] as const)('of %s differ', (profile, type, features) => {
    expect(featuresOf(type, profile)).toMatchObject(features)
  })

  it('name levels that exist, weakest first', () => {
    for (const type of CHANNEL_TYPES) {
      for (const profile of PROFILES) {
        const { efforts } = featuresOf(type, profile)
        expect(efforts.length).toBeGreaterThan(0)
        expect(efforts).toEqual(EFFORTS.filter((level) => efforts.includes(level)))
      }
    }
  })

  it('are overridden one by one, without effect on the next caller', () => {
    const plain = featuresOf('messages', 'anthropic')
    expect(featuresOf('messages', 'anthropic', { images: true, efforts: ['low'] })).toEqual({
      ...plain,
      images: true,
      efforts: ['low'],
    })
    expect(featuresOf('messages', 'anthropic')).toEqual(plain)
    expect(featuresOf('messages', 'anthropic', { images: undefined, cacheMarks: undefined })).toEqual(plain)
  })
})
