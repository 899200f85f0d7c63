package redfish

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

const (
	root         = "/redfish/v1"
	maxBodyBytes = 1 << 20
)

// doc is one JSON object.
type doc = map[string]any

// reply is an answer before it is written.
type reply struct {
	status int
	body   doc
	header map[string]string
}

func ok(body doc) reply    { return reply{status: http.StatusOK, body: body} }
func noContent() reply     { return reply{status: http.StatusNoContent} }
func link(path string) doc { return doc{"@odata.id": path} }
func links(paths []string) []doc {
	members := make([]doc, 0, len(paths))
	for _, p := range paths {
		members = append(members, link(p))
	}
	return members
}

// refuse is an error answer with one message.
func refuse(status int, messageID, format string, args ...any) reply {
	message := fmt.Sprintf(format, args...)
	info := doc{
		"@odata.type": "#Message.v1_1_1.Message", "MessageId": messageID, "Message": message,
		"Severity": "Warning", "Resolution": "See the message.",
	}
	return reply{status: status, body: doc{"error": doc{
		"code": messageID, "message": message, "@Message.ExtendedInfo": []doc{info},
	}}}
}

func notFound(path string) reply {
	return refuse(http.StatusNotFound, "Base.1.12.ResourceMissingAtURI", "The resource at the URI %s was not found.", path)
}

// request is what a handler gets.
type request struct {
	*http.Request
	body doc // nil when there was none
}

type handler func(*BMC, request) reply

// serveHTTP answers one request: faults first, then credentials, then the
// resource.
func (b *BMC) serveHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimRight(r.URL.Path, "/")
	r.URL.Path = path
	b.mu.Lock()
	b.seen.request(r.Method, path)
	faults, released := b.faults, b.released
	b.mu.Unlock()
	if faults.Hang && !b.held(r.Context(), released) {
		return
	}
	if faults.Status != 0 {
		b.write(w, r, refuse(faults.Status, "Base.1.12.ServiceTemporarilyUnavailable", "The service is temporarily unavailable."))
		return
	}
	if a, waiting := b.notReady(); waiting {
		b.write(w, r, a)
		return
	}
	b.write(w, r, b.answer(r, path))
}

// held waits for the end of a hang and reports whether to go on.
func (b *BMC) held(ctx context.Context, released <-chan struct{}) bool {
	select {
	case <-released:
		return true
	case <-ctx.Done():
	case <-b.ctx.Done():
	}
	return false
}

func (b *BMC) notReady() (reply, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.unready) == 0 {
		return reply{}, false
	}
	a := b.unready[0]
	b.unready = b.unready[1:]
	r := refuse(a.Status, a.MessageID, "The service is not ready.")
	if a.RetryAfter > 0 {
		r.header = map[string]string{"Retry-After": strconv.Itoa(int(a.RetryAfter.Seconds()))}
	}
	return r, true
}

func (b *BMC) answer(r *http.Request, path string) reply {
	if path == "/redfish" {
		return ok(doc{"v1": root + "/"})
	}
	h, pattern := b.find(r, path)
	if open := path == root || (r.Method == http.MethodPost && pattern == sessionsPath); !open {
		if refusal, allowed := b.authorise(r, path); !allowed {
			return refusal
		}
	}
	if pattern == "" {
		return notFound(path)
	}
	if h == nil {
		return refuse(http.StatusMethodNotAllowed, "Base.1.12.OperationNotAllowed", "%s is not allowed on %s.", r.Method, path)
	}
	req := request{Request: r}
	if refusal, good := req.read(); !good {
		return refusal
	}
	if r.Method == http.MethodPatch {
		if refusal, good := b.matchETag(r, path); !good {
			return refusal
		}
	}
	return h(b, req)
}

// find is the handler for a request and the pattern that its path fits, ""
// for a path that there is nothing at.
func (b *BMC) find(r *http.Request, path string) (handler, string) {
	for pattern, methods := range b.routes {
		if b.hidden(pattern) || !matches(pattern, path, r) {
			continue
		}
		return methods[r.Method], pattern
	}
	return nil, ""
}

// matches compares segment by segment, binding {name} segments on r.
func matches(pattern, path string, r *http.Request) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if strings.HasPrefix(want[i], "{") && got[i] != "" {
			continue
		}
		if want[i] != got[i] {
			return false
		}
	}
	for i := range want {
		if name, ok := strings.CutPrefix(want[i], "{"); ok {
			r.SetPathValue(strings.TrimSuffix(name, "}"), got[i])
		}
	}
	return true
}

// read decodes the body, if there is one.
func (r *request) read() (reply, bool) {
	if r.Method != http.MethodPost && r.Method != http.MethodPatch {
		return reply{}, true
	}
	content, err := io.ReadAll(io.LimitReader(r.Body, maxBodyBytes+1))
	if err != nil || len(content) > maxBodyBytes {
		return refuse(http.StatusRequestEntityTooLarge, "Base.1.12.PayloadTooLarge", "The request body is too large."), false
	}
	if len(content) == 0 {
		return reply{}, true
	}
	if err := json.Unmarshal(content, &r.body); err != nil || r.body == nil {
		return refuse(http.StatusBadRequest, "Base.1.12.MalformedJSON", "The request body is no JSON object."), false
	}
	return reply{}, true
}

func (b *BMC) write(w http.ResponseWriter, r *http.Request, a reply) {
	w.Header().Set("OData-Version", "4.0")
	w.Header().Set("Cache-Control", "no-cache")
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	if a.body == nil {
		w.WriteHeader(a.status)
		return
	}
	content, err := json.Marshal(a.body)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	zipped := b.cfg.Quirks.GzipETag && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
	if b.cfg.Quirks.NeedsETag != 0 && r.Method == http.MethodGet && a.status == http.StatusOK {
		w.Header().Set("ETag", etag(content, zipped))
	}
	if !zipped {
		w.WriteHeader(a.status)
		_, _ = w.Write(content) // the client is gone if this fails
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.WriteHeader(a.status)
	z := gzip.NewWriter(w)
	_, _ = z.Write(content)
	_ = z.Close()
}

func etag(content []byte, zipped bool) string {
	sum := sha256.Sum256(content)
	tag := hex.EncodeToString(sum[:8])
	if zipped {
		tag += "-gzip"
	}
	return `"` + tag + `"`
}

// matchETag asks for the tag of the resource as a GET shows it now.
func (b *BMC) matchETag(r *http.Request, path string) (reply, bool) {
	need := b.cfg.Quirks.NeedsETag
	if need == 0 {
		return reply{}, true
	}
	get := r.Clone(r.Context())
	get.Method = http.MethodGet
	h, _ := b.find(get, path)
	if h == nil {
		return reply{}, true
	}
	content, err := json.Marshal(h(b, request{Request: get}).body)
	if err == nil && r.Header.Get("If-Match") == etag(content, false) {
		return reply{}, true
	}
	return refuse(need, "Base.1.12.PreconditionFailed", "The ETag supplied did not match, or none was."), false
}
