package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// upstream answers like a provider. The first segment of the path picks the answer: "json", or "s<events>x<ms>", a stream of
// so many events of content with a pause before each; its end picks the API. GET /log reports what was sent, by path.
type upstream struct {
	listener net.Listener
	answers  sync.Map
}

// answer is made once for a path; requests only send its bytes.
type answer struct {
	counts
	// whole is everything from the status line on, unless the stream has pauses.
	whole           []byte
	before, after   []byte
	content         [][]byte
	events          int
	pause           time.Duration
	bytesOfOneReply int64
}

// counts are the upstream's own log of a path.
type counts struct {
	// begun counts heads of requests, finished whole answers, broken those whose connection failed.
	begun, finished, broken atomic.Int64
	// events of content that were sent.
	events            atomic.Int64
	bytesIn, bytesOut atomic.Int64
}

func listen(address string) (*upstream, error) {
	listener, err := net.Listen("tcp", address)
	return &upstream{listener: listener}, err
}

func (u *upstream) port() int { return u.listener.Addr().(*net.TCPAddr).Port }

func (u *upstream) serve() error {
	for {
		connection, err := u.listener.Accept()
		if err != nil {
			return err
		}
		go u.converse(connection)
	}
}

// converse answers the requests of a connection until the client closes it.
func (u *upstream) converse(connection net.Conn) {
	defer connection.Close()
	reader := bufio.NewReaderSize(connection, 16_384)
	for {
		request, err := readHead(reader)
		if err != nil {
			return
		}
		method, rest, _ := bytes.Cut(request.first, []byte(" "))
		path, _, _ := bytes.Cut(rest, []byte(" "))
		size, err := discardBody(reader, request)
		if err != nil {
			return
		}
		if string(method) == "GET" && string(path) == "/log" {
			_, err = connection.Write(withHead("200 OK", "application/json", u.log()))
		} else if answer := u.answerTo(string(path)); answer == nil || string(method) != "POST" {
			_, err = connection.Write(withHead("404 Not Found", "application/json", []byte(`{"error":{"message":"no such path"}}`)))
		} else {
			answer.begun.Add(1)
			answer.bytesIn.Add(int64(request.size) + size)
			if err = answer.send(connection); err != nil {
				answer.broken.Add(1)
			}
		}
		if err != nil || request.closes {
			return
		}
	}
}

func (a *answer) send(connection net.Conn) error {
	if a.whole != nil {
		// Counted before the client can know of it: whoever has the answer finds it in the log.
		a.count(int64(a.events))
		_, err := connection.Write(a.whole)
		return err
	}
	if _, err := connection.Write(a.before); err != nil {
		return err
	}
	start := time.Now()
	for n := range a.events {
		time.Sleep(time.Until(start.Add(time.Duration(n+1) * a.pause)))
		if _, err := connection.Write(a.content[n%len(a.content)]); err != nil {
			return err
		}
		a.counts.events.Add(1)
	}
	a.count(0)
	_, err := connection.Write(a.after)
	return err
}

func (a *answer) count(events int64) {
	a.counts.events.Add(events)
	a.finished.Add(1)
	a.bytesOut.Add(a.bytesOfOneReply)
}

// The short names are those of older configurations.
var named = map[string]string{"full": "s500x0", "blocks": "s500x0", "paced": "s100x10"}
var stream = regexp.MustCompile(`^s([1-9][0-9]{0,5})x([0-9]{1,6})$`)

// answerTo returns nil for a path without an answer.
func (u *upstream) answerTo(path string) *answer {
	if known, ok := u.answers.Load(path); ok {
		return known.(*answer)
	}
	made := makeAnswer(path)
	if made == nil {
		return nil
	}
	kept, _ := u.answers.LoadOrStore(path, made)
	return kept.(*answer)
}

func makeAnswer(path string) *answer {
	segment, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if known, ok := named[segment]; ok {
		segment = known
	}
	api := ""
	for end := range jsonAnswers {
		if strings.HasSuffix("/"+rest, end) {
			api = end
		}
	}
	if segment == "json" && api != "" {
		whole := withHead("200 OK", "application/json", jsonAnswers[api])
		return &answer{whole: whole, bytesOfOneReply: int64(len(whole))}
	}
	shape := stream.FindStringSubmatch(segment)
	if shape == nil || streamFrames[api] == nil {
		return nil
	}
	events, _ := strconv.Atoi(shape[1])
	pause, _ := strconv.Atoi(shape[2])
	return streamAnswer(streamFrames[api](events), events, time.Duration(pause)*time.Millisecond)
}

func streamAnswer(parts frames, events int, pause time.Duration) *answer {
	head := "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n" +
		"transfer-encoding: chunked\r\n\r\n"
	result := &answer{
		before: append([]byte(head), chunks(parts.before)...),
		after:  append(chunks(parts.after), "0\r\n\r\n"...),
		events: events,
		pause:  pause,
	}
	for _, event := range parts.content {
		result.content = append(result.content, chunks([]string{event}))
	}
	whole := append([]byte(nil), result.before...)
	for n := range events {
		whole = append(whole, result.content[n%len(result.content)]...)
	}
	whole = append(whole, result.after...)
	result.bytesOfOneReply = int64(len(whole))
	if pause == 0 {
		result.whole = whole
	}
	return result
}

// chunks gives each event a chunk of its own, as providers do.
func chunks(events []string) []byte {
	var result []byte
	for _, event := range events {
		result = fmt.Appendf(result, "%x\r\n%s\r\n", len(event), event)
	}
	return result
}

func withHead(status, contentType string, body []byte) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 %s\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n%s", status, contentType, len(body), body)
}

func (u *upstream) log() []byte {
	paths := object{}
	u.answers.Range(func(path, known any) bool {
		a := known.(*answer)
		paths[path.(string)] = map[string]int64{
			"begun": a.begun.Load(), "finished": a.finished.Load(), "broken": a.broken.Load(),
			"events": a.counts.events.Load(), "bytesIn": a.bytesIn.Load(), "bytesOut": a.bytesOut.Load(),
		}
		return true
	})
	log, _ := json.Marshal(paths)
	return log
}
