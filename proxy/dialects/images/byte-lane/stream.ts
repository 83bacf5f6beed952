/** Follows a stream of images; bytes pass as they are. */
import type { Usage } from '../../../../contract/usage.ts'
import { present } from '../../../../kit/present.ts'
import type { GatewayError } from '../../../errors.ts'
import type { StreamObserver } from '../../core/byte-lane.ts'
import type { Fields } from '../../core/json/value.ts'
import { imageKindOf } from '../../core/neutral/delivered.ts'
import { EventFollower, type Verdict } from '../../core/sse/follower.ts'
import { errorText, isCompleted, isPartial } from '../events.ts'
import { addUsage, readUsage } from '../usage.ts'

export class ImagesStreamObserver extends EventFollower implements StreamObserver {
  usage: Usage | undefined
  readonly tier = undefined
  #completed = 0
  /** True after a partial image without a completed one. */
  #isPending = false

  /** Upstreams may make fewer images than requested, but the last one must be complete. */
  get finished(): boolean {
    return this.#completed > 0 && !this.#isPending
  }

  errorEvent(error: GatewayError): Buffer {
    return Buffer.from(errorText(error))
  }

  protected override readDone(): Verdict {
    if (!this.finished) return super.readDone()
    this.done = true
    return 'last'
  }

  protected inspect(event: Fields): Verdict | undefined {
    const { type } = event
    if (typeof type !== 'string' || !type.startsWith('image_')) return undefined
    if (isPartial(type)) {
      this.#isPending = true
    } else if (isCompleted(type)) {
      this.#completed++
      this.#isPending = false
      this.usage = addUsage(this.usage, readUsage(event.usage, 1))
      if (this.usage !== undefined) this.usage = { ...this.usage, images: this.#completed }
    }
    Object.assign(this.delivered, present({ imageKind: imageKindOf(event) }))
    // The upstream charges for a partial image, too.
    this.delivered.images = this.#completed + (this.#isPending ? 1 : 0)
    if (this.#completed < (this.request.head.images ?? 1)) return 'pass'
    this.done = true
    return 'last'
  }
}
