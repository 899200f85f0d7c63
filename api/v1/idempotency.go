package v1

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"ferrule/failpoint"
	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
)

// headerIdempotencyKey names a request that may be sent again without being done
// again (IETF: draft-ietf-httpapi-idempotency-key-header).
const headerIdempotencyKey = "Idempotency-Key"

// waitsForAgent says whether the operation's answer waits for a site agent's.
// What it orders must be seen by others before it is over, so that it cannot be
// one transaction with its answer.
func waitsForAgent(op *openapi.Operation) bool {
	switch op.ID {
	case "setBootDevice", "injectNMI", "setIndicator":
		return true
	}
	return strings.Contains(op.Path, "/vendor_passthru")
}

// keyed is a request that came with a key.
type keyed struct {
	caller string // what the ids of all the caller's requests begin with
	id     string // of caller and key
	digest []byte // of all that was asked for
}

// heard is an answer, as it was given and is given again.
type heard struct {
	Request []byte      `json:"request"`
	Status  int         `json:"status"` // 0: there is none yet
	Header  http.Header `json:"header"`
	Body    []byte      `json:"body"`
	TooLong bool        `json:"too_long,omitempty"` // so that it is not kept
}

// keyOf is the request's key, nil where it has none or needs none.
func keyOf(c *call) (*keyed, error) {
	r := c.Request()
	given := r.Header.Values(headerIdempotencyKey)
	if len(given) == 0 || c.op.Public || r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil, nil
	}
	key, ok := plainKey(given[0])
	if !ok || len(given) > 1 {
		return nil, badRequest("The header %s is one text of 1 to 255 printable characters.", headerIdempotencyKey)
	}
	who := arrivalOf(c).who
	caller := hex.EncodeToString(digest(who.UserDomainID, who.UserID, who.User, who.ProjectID, who.DomainID, who.SystemScope))
	return &keyed{
		caller: caller,
		id:     caller + hex.EncodeToString(digest(caller, key)),
		digest: digest(r.Method, r.URL.Path, r.URL.RawQuery, c.version.String(), string(c.raw)),
	}, nil
}

// plainKey reads a key: a quoted string of RFC 8941, or the bare text.
func plainKey(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, `"`) {
		inner, closed := strings.CutSuffix(text[1:], `"`)
		plain := strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(inner)
		if quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(plain); !closed || quoted != inner {
			return "", false
		}
		text = plain
	}
	unprintable := strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
	return text, text != "" && len(text) <= 255 && !unprintable
}

// digest is a hash of parts, each with its length.
func digest(parts ...string) []byte {
	h := sha256.New()
	for _, p := range parts {
		_ = binary.Write(h, binary.BigEndian, uint64(len(p))) // a hash takes everything
		h.Write([]byte(p))
	}
	return h.Sum(nil)
}

// underWay are the keyed requests that this process carries out.
type underWay struct {
	mu  sync.Mutex
	ids map[string]bool
}

func (u *underWay) begin(id string) (end func(), free bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ids[id] {
		return nil, false
	}
	if u.ids == nil {
		u.ids = map[string]bool{}
	}
	u.ids[id] = true
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.ids, id)
	}, true
}

// once runs a handler, or gives the answer that it gave to the same request with
// the same key before. Only what was done is kept: a refusal did nothing, so the
// request may be sent again with its key.
func (s *Service) once(c *call, h handler) error {
	k, err := keyOf(c)
	if err != nil {
		return err
	}
	if k == nil {
		return h(c)
	}
	end, free := s.underWay.begin(k.id)
	if !free {
		return conflict("A request with this %s is still being carried out. Wait, and send it again.", headerIdempotencyKey)
	}
	defer end()
	do := s.inOne
	if waitsForAgent(c.op) {
		do = s.claimed
	}
	answer, err := do(c, k, h)
	if err != nil {
		return err
	}
	failpoint.Hit("api-answer-kept")
	s.forgetOlder(c.Request().Context(), k)
	return answer.give(c)
}

// forgetOlder keeps the number of a caller's answers in bounds. It is looked at
// once in a while, and apart from the request, which waits for nobody's rows.
func (s *Service) forgetOlder(ctx context.Context, k *keyed) {
	const interval = 64
	if s.keptAnswers.Add(1)%interval != 0 {
		return
	}
	err := s.store.Write(context.WithoutCancel(ctx), func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.DropOlderAnswers(ctx, k.caller, store.MostAnswers)
		return err
	})
	if err != nil {
		s.log.WarnContext(ctx, "older answers cannot be forgotten", "error", err)
	}
}

// inOne does the request and keeps its answer in one transaction.
func (s *Service) inOne(c *call, k *keyed, h handler) (answer *heard, err error) {
	run := func(last bool) error {
		ctx := context.WithValue(c.Request().Context(), lastTry{}, last)
		return s.store.Unit(ctx, func(ctx context.Context, tx *store.Tx) error {
			var err error
			if answer, err = s.recall(ctx, tx, k); answer != nil || err != nil {
				return err
			}
			if answer, err = hear(ctx, c, h); err != nil {
				return err
			}
			failpoint.Hit("api-answer-not-kept")
			return s.keep(ctx, tx, k, answer)
		})
	}
	if err = run(false); metal.ReasonOf(err) != metal.Locked {
		return answer, err
	}
	// The lock is not seen to go from within the transaction, so all of it is
	// tried again.
	patience, cancel := context.WithTimeout(c.Request().Context(), lockPatience)
	defer cancel()
	tick := time.NewTicker(4 * lockPause)
	defer tick.Stop()
	for {
		select {
		case <-patience.Done():
			err = run(true)
			return answer, err
		case <-tick.C:
		}
		if err = run(false); metal.ReasonOf(err) != metal.Locked {
			return answer, err
		}
	}
}

// lastTry is the context's mark of a keyed request that is not tried again, so
// that what is locked now is out of its reach.
type lastTry struct{}

func isLastTry(ctx context.Context) bool {
	last, _ := ctx.Value(lastTry{}).(bool)
	return last
}

// claimed notes that the request is begun, does it, and keeps its answer. Where
// its end is unknown, it is not done again.
func (s *Service) claimed(c *call, k *keyed, h handler) (answer *heard, err error) {
	ctx := c.Request().Context()
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		answer, err = s.recall(ctx, tx, k)
		return err
	})
	if answer != nil || err != nil {
		return answer, err
	}
	answer, done := hear(ctx, c, h)
	ctx = context.WithoutCancel(ctx) // the caller may have gone meanwhile
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		switch {
		case done == nil:
			return s.keep(ctx, tx, k, answer)
		case asFault(done).Status < http.StatusInternalServerError:
			return tx.DropKeptAnswer(ctx, k.id)
		}
		return nil
	})
	if done != nil {
		return nil, done
	}
	return answer, err
}

// recall gives the answer to the request where it was done before. Else the key
// is this request's from now on, and nil is given.
func (s *Service) recall(ctx context.Context, tx *store.Tx, k *keyed) (*heard, error) {
	for {
		kept, err := tx.KeptAnswer(ctx, k.id)
		switch {
		case err == nil && kept.CreatedAt.After(s.now().Add(-store.KeepAnswers)):
			return s.reopen(k, &kept)
		case err == nil:
			if err := tx.DropKeptAnswer(ctx, k.id); err != nil {
				return nil, err
			}
		case metal.ReasonOf(err) != metal.NotFound:
			return nil, err
		}
		sealed, err := s.sealAnswer(k, &heard{})
		if err != nil {
			return nil, err
		}
		fresh, err := tx.AddKeptAnswer(ctx, &store.KeptAnswer{ID: k.id, Sealed: sealed})
		if fresh || err != nil {
			return nil, err
		}
	}
}

// reopen reads a kept answer and holds it to the request.
func (s *Service) reopen(k *keyed, kept *store.KeptAnswer) (*heard, error) {
	text, err := s.sealer.Open(answerRef(k), kept.Sealed)
	if err != nil {
		return nil, fmt.Errorf("open a kept answer: %w", err)
	}
	var answer heard
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("read a kept answer: %w", err)
	}
	switch {
	case !bytes.Equal(answer.Request, k.digest):
		return nil, faultf(http.StatusUnprocessableEntity, "This %s came with another request. Give each request a key of its own.", headerIdempotencyKey)
	case answer.TooLong:
		return nil, conflict("The request with this %s was done. Its answer, of status %d, was too long to be kept; see what is there.",
			headerIdempotencyKey, answer.Status)
	case answer.Status == 0:
		return nil, conflict("The request with this %s is being carried out, or was cut off and may have been done. See what is there before you send another.",
			headerIdempotencyKey)
	}
	return &answer, nil
}

func answerRef(k *keyed) string { return "kept-answer/" + k.id }

func (s *Service) sealAnswer(k *keyed, answer *heard) ([]byte, error) {
	answer.Request = k.digest
	sealed, err := s.sealer.Seal(answerRef(k), []byte(metal.ToJSON(answer)))
	if err != nil {
		return nil, fmt.Errorf("seal an answer: %w", err)
	}
	return sealed, nil
}

func (s *Service) keep(ctx context.Context, tx *store.Tx, k *keyed, answer *heard) error {
	kept := *answer
	if len(kept.Body) > store.LongestAnswer {
		kept.Body, kept.Header, kept.TooLong = nil, nil, true
	}
	sealed, err := s.sealAnswer(k, &kept)
	if err != nil {
		return err
	}
	return tx.SetKeptAnswer(ctx, &store.KeptAnswer{ID: k.id, Sealed: sealed})
}

// hear runs a handler and takes its answer, which nobody else gets.
func hear(ctx context.Context, c *call, h handler) (*heard, error) {
	response, request := c.Response(), c.Request()
	defer func() {
		c.SetResponse(response)
		c.SetRequest(request)
	}()
	ear := &ear{header: http.Header{}}
	c.SetResponse(echo.NewResponse(ear, c.Echo()))
	c.SetRequest(request.WithContext(ctx))
	if err := h(c); err != nil {
		return nil, err
	}
	return &heard{Status: c.Response().Status, Header: ear.header, Body: ear.body.Bytes()}, nil
}

// ear is a http.ResponseWriter that keeps what it is given.
type ear struct {
	header http.Header
	body   bytes.Buffer
}

func (e *ear) Header() http.Header         { return e.header }
func (e *ear) Write(p []byte) (int, error) { return e.body.Write(p) }
func (e *ear) WriteHeader(int)             {} // echo's own response knows it

// give sends the answer.
func (h *heard) give(c *call) error {
	to := c.Response().Header()
	for name, values := range h.Header {
		to[name] = values
	}
	if len(h.Body) == 0 {
		return c.NoContent(h.Status)
	}
	return c.Blob(h.Status, h.Header.Get(echo.HeaderContentType), h.Body)
}
