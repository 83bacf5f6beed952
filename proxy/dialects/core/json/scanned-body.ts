/** A top-level key of a JSON object, and the position of its value in the bytes. */
export interface Member {
  /** The text between the quotes, with its escapes. */
  rawKey: string
  /** First byte of the value. */
  start: number
  /** The byte after the value. */
  end: number
}

/** A JSON object in bytes. */
export interface ScannedBody {
  bytes: Buffer
  /** In the order of the bytes. */
  members: Member[]
}
