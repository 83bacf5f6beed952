package main

import (
	"fmt"
	"io"
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

const (
	answerTimeout = 60 * time.Second
	// A worker gives up after so many failures in a row.
	mostFailures = 20
)

// Result of a load. Durations are in microseconds.
type Result struct {
	Requests int64   `json:"requests"`
	Tokens   int64   `json:"tokens"`
	Seconds  float64 `json:"seconds"`
	// Failures by kind: "status 503", "answer", "connection", and "dial" for connections that this machine could not open.
	Failures map[string]int64 `json:"failures"`
	// Failure is the text of the first one.
	Failure string `json:"failure"`
	// Latency until the end of an answer; with a Rate, from the time at which the request was due.
	Latency *Percentiles `json:"latency"`
	// First is the time until the first token of a stream, Gap that between two tokens.
	First *Percentiles `json:"first"`
	Gap   *Percentiles `json:"gap"`
	// Stalled counts streams in which two tokens were more than StallMs apart.
	Stalled int64 `json:"stalled"`
}

// tally is what a worker counts.
type tally struct {
	requests, tokens, stalled int64
	failures                  map[string]int64
	failure                   string
	latency, first, gap       *histogram
}

func newTally() *tally {
	return &tally{failures: map[string]int64{}, latency: newHistogram(), first: newHistogram(), gap: newHistogram()}
}

// exchange sends request number n of a worker over its connection, and reads the answer.
type exchange interface {
	open() error
	send(n int, started time.Time) *failure
	close()
}

type failure struct{ kind, text string }

func (f *failure) Error() string { return f.text }

func failed(kind, format string, args ...any) *failure {
	return &failure{kind, fmt.Sprintf(format, args...)}
}

// load is a run: its workers take turns at the requests.
type load struct {
	spec     Spec
	start    time.Time
	deadline time.Time
	// next is the number of requests that were taken, of an open loop.
	next atomic.Int64
	// opened counts workers that have their first token.
	opened atomic.Int64
	out    io.Writer
}

func runLoad(spec Spec, out io.Writer) (*Result, error) {
	if err := spec.validate(); err != nil {
		return nil, err
	}
	run := &load{spec: spec, out: out, start: time.Now()}
	run.deadline = run.start.Add(time.Duration(spec.DurationMs) * time.Millisecond)
	tallies := make([]*tally, spec.Connections)
	var workers sync.WaitGroup
	for worker := range tallies {
		tallies[worker] = newTally()
		workers.Add(1)
		go func() {
			defer workers.Done()
			run.work(worker, tallies[worker])
		}()
	}
	workers.Wait()
	return run.sum(tallies), nil
}

func (l *load) work(worker int, tally *tally) {
	var connection exchange = &httpExchange{load: l, worker: worker, tally: tally}
	if l.spec.WebSocket {
		connection = &socketExchange{load: l, worker: worker, tally: tally}
	}
	defer connection.close()
	time.Sleep(time.Duration(l.spec.RampMs) * time.Millisecond * time.Duration(worker) / time.Duration(l.spec.Connections))
	for n, row := 0, 0; (l.spec.Each == 0 || n < l.spec.Each) && row < mostFailures; n++ {
		// Opened before the request is due, so that its latency has no handshake in it.
		err := connection.open()
		number, started, more := l.turn(worker, n)
		if !more {
			return
		}
		if err != nil {
			tally.note(failed("dial", "%v", err))
			row++
		} else if failure := connection.send(number, started); failure != nil {
			tally.note(failure)
			connection.close()
			row++
		} else {
			tally.requests++
			tally.latency.add(time.Since(started))
			row = 0
		}
	}
}

// turn waits until the worker's next request is due. `started` is where its latency begins: where all workers were busy, that
// is the due time, so that requests which a slow server delayed count with their wait.
func (l *load) turn(worker, n int) (number int, started time.Time, more bool) {
	if l.spec.Rate == 0 {
		now := time.Now()
		// Each worker begins with another body.
		return worker + n, now, n == 0 || now.Before(l.deadline)
	}
	number = int(l.next.Add(1)) - 1
	due := l.start.Add(time.Duration(float64(number) / l.spec.Rate * float64(time.Second)))
	if !due.Before(l.deadline) {
		return 0, due, false
	}
	if wait := time.Until(due); wait > 0 {
		time.Sleep(wait)
		// A late alarm is not the server's fault.
		due = time.Now()
	}
	return number, due, true
}

// firstToken announces the last worker's.
func (l *load) firstToken(n int) {
	if l.spec.Announce && n == 0 && l.opened.Add(1) == int64(l.spec.Connections) {
		fmt.Fprintln(l.out, `{"open":true}`)
	}
}

func (t *tally) note(failure *failure) {
	t.failures[failure.kind]++
	if t.failure == "" {
		t.failure = failure.text
	}
}

func (l *load) sum(tallies []*tally) *Result {
	all := newTally()
	for _, tally := range tallies {
		all.requests += tally.requests
		all.tokens += tally.tokens
		all.stalled += tally.stalled
		for kind, count := range maps.All(tally.failures) {
			all.failures[kind] += count
		}
		if all.failure == "" {
			all.failure = tally.failure
		}
		all.latency.merge(tally.latency)
		all.first.merge(tally.first)
		all.gap.merge(tally.gap)
	}
	return &Result{
		Requests: all.requests, Tokens: all.tokens, Seconds: time.Since(l.start).Seconds(),
		Failures: all.failures, Failure: all.failure, Stalled: all.stalled,
		Latency: all.latency.percentiles(), First: all.first.percentiles(), Gap: all.gap.percentiles(),
	}
}
