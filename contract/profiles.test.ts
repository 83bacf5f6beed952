import { describe, expect, it } from 'vitest'
import { featuresOf } from './profiles.ts'

describe('features', () => {
  it('come from the profile, generic by default', () => {
    expect(featuresOf(undefined)).toEqual({ streamUsage: true, embeddings: true, images: true })
    expect(featuresOf('anthropic')).toEqual({ streamUsage: true, embeddings: false, images: false })
  })

  it('are overridden one by one, and never for the next caller', () => {
    expect(featuresOf('anthropic', { images: true, streamUsage: undefined })).toEqual({
      streamUsage: true,
      embeddings: false,
      images: true,
    })
    expect(featuresOf('anthropic').images).toBe(false)
  })
})
