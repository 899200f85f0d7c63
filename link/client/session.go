package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"ferrule/link"
	"ferrule/trust"
)

// Delivery is one command as it came: verify the envelope before anything else.
type Delivery struct {
	Seq      int64
	Envelope string
}

// deadAfter is how many keep-alives may be missed.
const deadAfter = 3

// welcomeTimeout bounds the wait for a session's first line.
const welcomeTimeout = 30 * time.Second

var (
	errDead    = errors.New("the control plane fell silent")
	errEnded   = errors.New("the control plane ended the session")
	errRenewed = errors.New("the agent has a new certificate")
)

// Run stays connected until ctx ends, and gives each command that comes to
// handle, one at a time and in order; so handle takes charge of a command (its
// journal) and returns; its context ends with the session. An error from handle
// ends the session, and the command comes again on the next. Commands that are
// not done come again after a restart of the agent. Run also renews the
// certificate.
//
// It returns nil when ctx ended, and an error only when the agent has been
// removed or its certificate has ended.
func (c *Client) Run(ctx context.Context, hello link.Hello, handle func(context.Context, Delivery) error) error {
	var cursor int64
	waits := c.waits()
	for {
		welcomed, err := c.session(ctx, hello, &cursor, handle)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errRenewed):
			continue
		case errors.As(err, new(*Ended)):
			return err
		case removed(err):
			return fmt.Errorf("agent %s has been removed from its control plane: %w", c.Identity().AgentID(), err)
		}
		if welcomed {
			waits.Reset()
		}
		wait := waits.NextBackOff()
		c.log.WarnContext(ctx, "session with the control plane ended; connecting again",
			"address", c.Identity().Address(), "wait", wait, "error", err)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
}

func removed(err error) bool {
	var r *Rejected
	return errors.As(err, &r) && r.Code == trust.RefusedRevoked
}

// session is one connection from hello to its end.
func (c *Client) session(
	ctx context.Context, hello link.Hello, cursor *int64, handle func(context.Context, Delivery) error,
) (welcomed bool, err error) {
	if err := c.Identity().CheckLife(time.Now()); err != nil {
		return false, err
	}
	if err := c.renewIfDue(ctx); err != nil {
		c.log.ErrorContext(ctx, "certificate could not be renewed", "error", err,
			"ends", c.Identity().credential.Certificate().NotAfter)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(welcomeTimeout, func() { cancel(errDead) })
	defer silence.Stop()
	renewal := time.AfterFunc(c.untilRenewal(), func() { cancel(errRenewed) })
	defer renewal.Stop()

	lines, err := c.openSession(ctx, hello, *cursor)
	if err != nil {
		return false, cause(ctx, err)
	}
	defer lines.close()
	patience := welcomeTimeout
	for {
		line, err := lines.next()
		if err != nil {
			return welcomed, cause(ctx, err)
		}
		if line.Welcome != nil {
			welcomed = true
			patience = deadAfter * time.Duration(line.Welcome.KeepAliveSeconds*float64(time.Second))
			c.log.InfoContext(ctx, "session with the control plane is open", "session", line.Welcome.SessionID)
		}
		if line.Envelope != "" {
			silence.Stop() // the time that handle takes is the agent's own
			if err := handle(ctx, Delivery{Seq: line.Seq, Envelope: line.Envelope}); err != nil {
				return welcomed, fmt.Errorf("take command %d: %w", line.Seq, err)
			}
			*cursor = line.Seq
		}
		silence.Reset(patience)
	}
}

// cause is why the session's context ended, where that is why err came.
func cause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil {
		return c
	}
	return err
}

// lineReader reads the session's lines.
type lineReader struct {
	scanner *bufio.Scanner
	close   func()
}

func (c *Client) openSession(ctx context.Context, hello link.Hello, after int64) (*lineReader, error) {
	body, err := json.Marshal(hello)
	if err != nil {
		return nil, err
	}
	to := c.base + link.PathSession + "?" + link.ParamAfter + "=" + strconv.FormatInt(after, 10)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", link.TypeJSON)
	response, err := c.http().Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer func() { _ = response.Body.Close() }()
		return nil, rejection(response)
	}
	c.compareClocks(response.Header.Get("Date"))
	scanner := bufio.NewScanner(response.Body)
	scanner.Buffer(make([]byte, 0, 64<<10), link.MaxLine)
	return &lineReader{scanner: scanner, close: func() { _ = response.Body.Close() }}, nil
}

// next is the next line. A blank one is a keep-alive and comes as an empty Line.
func (r *lineReader) next() (line link.Line, err error) {
	if !r.scanner.Scan() {
		if err := r.scanner.Err(); err != nil {
			return line, fmt.Errorf("read the session: %w", err)
		}
		return line, errEnded
	}
	text := bytes.TrimSpace(r.scanner.Bytes())
	if len(text) == 0 {
		return line, nil
	}
	if err := json.Unmarshal(text, &line); err != nil {
		return line, fmt.Errorf("read line of the session: %w", err)
	}
	return line, nil
}
