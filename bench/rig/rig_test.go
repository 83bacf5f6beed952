package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPercentilesAreNeverTooLowAndAtMostAHundredthTooHigh(t *testing.T) {
	values := make([]time.Duration, 10_000)
	h := newHistogram()
	for i := range values {
		values[i] = time.Duration(rand.Int64N(1 << (4 + rand.IntN(40))))
		h.add(values[i])
	}
	slices.Sort(values)
	for _, share := range []float64{0.001, 0.5, 0.9, 0.99, 0.999, 1} {
		exact := values[max(int(share*float64(len(values)))-1, 0)]
		got := h.at(share)
		if got < exact || float64(got) > float64(exact)*1.01+1 {
			t.Errorf("at %v: %v instead of %v", share, got, exact)
		}
	}
}

func TestTokensAreCountedHoweverTheStreamIsCut(t *testing.T) {
	text := ": comment\n\n" + strings.Repeat("event: delta\ndata: {\"text\":\" a\"}\n\n", 5) + "data: {\"all\":\" a a a\"}\n\ndata: [DONE]\r\n\r\n"
	run := &load{spec: Spec{Expect: Expect{Tokens: 5, Token: " a", Last: "[DONE]"}}}
	for range 200 {
		tally := newTally()
		events := newEventReader(run, tally, time.Now())
		for rest := text; rest != ""; {
			cut := 1 + rand.IntN(len(rest))
			events.push([]byte(rest[:cut]))
			rest = rest[cut:]
		}
		if failure := events.verdict(); failure != nil || tally.tokens != 5 || tally.first.total != 1 || tally.gap.total != 4 {
			t.Fatalf("%v; %d tokens, %d first, %d gaps", failure, tally.tokens, tally.first.total, tally.gap.total)
		}
	}
}

func TestAStreamThatLacksATokenOrItsEndIsAFailure(t *testing.T) {
	run := &load{spec: Spec{Expect: Expect{Tokens: 2, Token: " a", Last: "[DONE]"}}}
	for _, text := range []string{"data: \" a\"\ndata: [DONE]\n", "data: \" a\"\ndata: \" a\"\n"} {
		events := newEventReader(run, newTally(), time.Now())
		events.push([]byte(text))
		if events.verdict() == nil {
			t.Errorf("no failure for %q", text)
		}
	}
}

func start(t *testing.T) *upstream {
	upstream, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go upstream.serve()
	t.Cleanup(func() { upstream.listener.Close() })
	return upstream
}

func specFor(u *upstream, path string) Spec {
	return Spec{Address: fmt.Sprintf("127.0.0.1:%d", u.port()), Path: path, Bodies: []string{"{}"}, Connections: 4, DurationMs: 300}
}

func TestLoadAndUpstreamCountTheSame(t *testing.T) {
	for _, path := range []string{"/json/v1/messages", "/s20x0/v1/chat/completions", "/s5x10/v1/messages", "/s7x0/v1/responses"} {
		u := start(t)
		spec := specFor(u, path)
		spec.Expect = Expect{Text: "Lorem"}
		if !strings.HasPrefix(path, "/json") {
			last := map[string]string{"s20x0": "[DONE]", "s5x10": "message_stop", "s7x0": "response.completed"}
			segment := strings.Split(path, "/")[1]
			var tokens int
			fmt.Sscanf(segment, "s%d", &tokens)
			spec.Expect = Expect{Tokens: tokens, Token: token, Last: last[segment]}
		}
		result, err := runLoad(spec, io.Discard)
		if err != nil || result.Failure != "" || result.Requests == 0 {
			t.Fatalf("%s: %v %+v", path, err, result)
		}
		counts := u.answerTo(path)
		if counts.finished.Load() != result.Requests || counts.counts.events.Load() != result.Tokens {
			t.Errorf("%s: %d and %d instead of %d and %d", path, counts.finished.Load(), counts.counts.events.Load(), result.Requests, result.Tokens)
		}
	}
}

// A server that stands still for a while makes an open loop's later requests wait, and their latency has to show it.
func TestAnOpenLoopCountsTheWaitOfRequestsThatWereDue(t *testing.T) {
	const pause = 200 * time.Millisecond
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		answer := withHead("200 OK", "application/json", []byte(`"Lorem"`))
		buffer := make([]byte, 4_096)
		for n := 0; ; n++ {
			if _, err := connection.Read(buffer); err != nil {
				return
			}
			if n == 0 {
				time.Sleep(pause)
			}
			connection.Write(answer)
		}
	}()
	spec := Spec{
		Address: listener.Addr().String(), Path: "/", Bodies: []string{"{}"}, Connections: 1, DurationMs: 300, Rate: 100,
		Expect: Expect{Text: "Lorem"},
	}
	result, err := runLoad(spec, io.Discard)
	if err != nil || result.Failure != "" || result.Requests != 30 {
		t.Fatalf("%v %+v", err, result)
	}
	// Twenty of thirty were due during the pause; they waited 200, 190, 180 ... milliseconds.
	if result.Latency.P50 < 40_000 {
		t.Errorf("the median latency is %v µs", result.Latency.P50)
	}
}

func TestAWrongAnswerIsAFailure(t *testing.T) {
	u := start(t)
	for path, kind := range map[string]string{"/nothing": "status 404", "/json/v1/embeddings": "answer"} {
		spec := specFor(u, path)
		spec.Connections, spec.Expect = 1, Expect{Text: "Lorem"}
		result, err := runLoad(spec, io.Discard)
		if err != nil || result.Requests != 0 || result.Failures[kind] == 0 {
			t.Errorf("%s: %v %+v", path, err, result)
		}
	}
}
