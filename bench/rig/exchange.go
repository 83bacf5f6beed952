package main

import (
	"bufio"
	"bytes"
	"net"
	"strconv"
	"time"
)

const bufferSize = 65_536

// httpExchange sends one request at a time over a connection that it keeps.
type httpExchange struct {
	load   *load
	worker int
	tally  *tally

	connection net.Conn
	reader     *bufio.Reader
	request    request
	body       []byte
}

func (e *httpExchange) open() error {
	if e.connection != nil {
		return nil
	}
	connection, err := net.DialTimeout("tcp", e.load.spec.Address, 10*time.Second)
	if err != nil {
		return err
	}
	e.connection = connection
	e.reader = bufio.NewReaderSize(connection, e.readSize())
	return nil
}

// readSize is small for many connections: memory of this process is memory that the gateway lacks.
func (e *httpExchange) readSize() int {
	if e.load.spec.Connections > 256 {
		return 4_096
	}
	return bufferSize
}

func (e *httpExchange) close() {
	if e.connection != nil {
		e.connection.Close()
		e.connection = nil
	}
}

func (e *httpExchange) send(n int, started time.Time) *failure {
	e.connection.SetDeadline(started.Add(answerTimeout))
	if _, err := e.connection.Write(e.request.fill(&e.load.spec, e.worker, n)); err != nil {
		return failed("connection", "writing a request: %v", err)
	}
	answer, err := readHead(e.reader)
	if err != nil {
		return failed("connection", "reading the head of an answer: %v", err)
	}
	if failure := e.read(answer, started); failure != nil {
		return failure
	}
	if answer.closes {
		e.close()
	}
	return nil
}

func (e *httpExchange) read(answer head, started time.Time) *failure {
	expect := &e.load.spec.Expect
	if _, rest, _ := bytes.Cut(answer.first, []byte(" ")); !bytes.HasPrefix(rest, []byte("200")) {
		text := e.collect(answer)
		return failed("status "+string(rest[:min(3, len(rest))]), "%s: %s", answer.first, text[:min(300, len(text))])
	}
	if expect.Tokens == 0 {
		body := e.collect(answer)
		if !bytes.Contains(body, []byte(expect.Text)) {
			return failed("answer", "not the answer: %s", body[:min(300, len(body))])
		}
		return nil
	}
	events := newEventReader(e.load, e.tally, started)
	if err := e.pieces(answer, events.push); err != nil {
		return failed("connection", "reading a stream: %v", err)
	}
	return events.verdict()
}

// collect returns what could be read of the body.
func (e *httpExchange) collect(answer head) []byte {
	e.body = e.body[:0]
	err := e.pieces(answer, func(piece []byte) { e.body = append(e.body, piece...) })
	if err != nil {
		e.body = append(e.body, " ("+err.Error()+")"...)
	}
	return e.body
}

// pieces passes on the body as it arrives, without copies.
func (e *httpExchange) pieces(answer head, take func([]byte)) error {
	if !answer.chunked {
		return e.piecesOf(max(answer.length, 0), take)
	}
	for {
		line, err := e.reader.ReadSlice('\n')
		if err != nil {
			return err
		}
		text, _, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(";"))
		size, err := strconv.ParseInt(string(text), 16, 32)
		if err != nil {
			return err
		}
		if err := e.piecesOf(size, take); err != nil {
			return err
		}
		// The end of a chunk; after the last one, the blank line.
		if _, err := e.reader.Discard(2); err != nil || size == 0 {
			return err
		}
	}
}

func (e *httpExchange) piecesOf(length int64, take func([]byte)) error {
	for left := length; left > 0; {
		if _, err := e.reader.Peek(1); err != nil {
			return err
		}
		piece, _ := e.reader.Peek(int(min(left, int64(e.reader.Buffered()))))
		take(piece)
		left -= int64(len(piece))
		e.reader.Discard(len(piece))
	}
	return nil
}
