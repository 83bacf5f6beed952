package main

import (
	"bytes"
	"time"
)

// eventReader finds the tokens in server-sent events, however the stream is cut, and times them.
type eventReader struct {
	load    *load
	tally   *tally
	started time.Time
	quoted  []byte
	// partial is a line whose end has not arrived.
	partial []byte
	tokens  int
	before  time.Time
	stalled bool
	// last is the last line.
	last []byte
	// ended: the last event of the API came after all tokens. Some servers add a [DONE] to it.
	ended bool
}

func newEventReader(load *load, tally *tally, started time.Time) *eventReader {
	return &eventReader{load: load, tally: tally, started: started, quoted: []byte(`"` + load.spec.Expect.Token + `"`)}
}

// push takes bytes that have just arrived.
func (e *eventReader) push(piece []byte) {
	now := time.Now()
	for {
		end := bytes.IndexByte(piece, '\n')
		if end < 0 {
			e.partial = append(e.partial, piece...)
			return
		}
		line := piece[:end]
		if len(e.partial) > 0 {
			line = append(e.partial, line...)
			e.partial = line[:0]
		}
		e.line(line, now)
		piece = piece[end+1:]
	}
}

// line takes a line of a stream, or a message of a WebSocket. Only an event of content has the token in quotes.
func (e *eventReader) line(line []byte, now time.Time) {
	if len(line) < 2 || line[0] == ':' {
		return
	}
	e.last = append(e.last[:0], line...)
	if !bytes.Contains(line, e.quoted) {
		if bytes.Contains(line, []byte(e.load.spec.Expect.Last)) {
			e.ended = e.tokens == e.load.spec.Expect.Tokens
		}
		return
	}
	e.ended = false
	if e.tokens++; e.tokens == 1 {
		e.tally.first.add(now.Sub(e.started))
		e.load.firstToken(int(e.tally.requests))
	} else {
		gap := now.Sub(e.before)
		e.tally.gap.add(gap)
		stall := time.Duration(e.load.spec.StallMs) * time.Millisecond
		e.stalled = e.stalled || stall > 0 && gap > stall
	}
	e.before = now
}

// verdict is nil for a whole stream.
func (e *eventReader) verdict() *failure {
	expect := &e.load.spec.Expect
	if e.stalled {
		e.tally.stalled++
	}
	e.tally.tokens += int64(e.tokens)
	if e.tokens != expect.Tokens {
		return failed("answer", "%d tokens instead of %d; the last event: %.300s", e.tokens, expect.Tokens, e.last)
	}
	if !e.ended {
		return failed("answer", "no event after the tokens has %s; the last: %.300s", expect.Last, e.last)
	}
	return nil
}
