package v1

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"ferrule/metal"
)

// rawFault is an error whose body is sent as it is, without the wrapping of the
// others (Ironic: middleware/json_depth).
type rawFault struct {
	Status int
	Text   string
}

func (f *rawFault) Error() string { return f.Text }

func (f *rawFault) body() []byte {
	out, err := json.Marshal(map[string]string{"faultcode": "Client", "faultstring": f.Text})
	if err != nil {
		return []byte(`{}`)
	}
	return out
}

// mostNested bounds what gets into the database however it is sent: Python's
// clients, which read a list of all nodes, give up at a thousand levels, and what
// is nested ten thousand times can no longer be changed.
const mostNested = 200

// readBody reads the body up to limit bytes and refuses deep nesting before any
// parser runs. What is not called JSON is read as JSON as well; of that Ironic
// takes more.
func readBody(r *http.Request, into *body, limit int64, depth int) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	tooLarge := &rawFault{http.StatusRequestEntityTooLarge, "Request body is too large. Please contact the service administrator."}
	if r.ContentLength > limit {
		return nil, tooLarge
	}
	raw, err := into.read(r, limit)
	if errors.Is(err, errNoRoom) {
		return nil, &rawFault{http.StatusServiceUnavailable, "Too many request bodies are being sent at once. Please send the request again."}
	}
	if err != nil {
		return nil, badRequest("The request body could not be read.")
	}
	if int64(len(raw)) > limit {
		return nil, tooLarge
	}
	if !strings.Contains(r.Header.Get("Content-Type"), "json") {
		depth = max(depth, mostNested)
	}
	if tooDeep(raw, depth) {
		return nil, &rawFault{http.StatusBadRequest, "Request body JSON is nested too deeply. Please contact the service administrator."}
	}
	return raw, nil
}

// tooDeep counts brackets outside strings.
func tooDeep(raw []byte, limit int) bool {
	depth, inString, escaped := 0, false, false
	for _, c := range raw {
		switch {
		case escaped:
			escaped = false
		case inString:
			switch c {
			case '\\':
				escaped = true
			case '"':
				inString = false
			}
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			if depth++; depth > limit {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// decode reads one JSON value; numbers keep their digits. An empty body is the
// empty object.
func decode(raw []byte) (any, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return map[string]any{}, nil
	}
	if !utf8.Valid(raw) {
		return nil, routeFault(http.StatusBadRequest)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, badRequest("The request body is not JSON: %v", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, badRequest("The request body holds more than one JSON value.")
	}
	return normalise(v)
}

// decodeObject reads a JSON object.
func decodeObject(raw []byte) (map[string]any, error) {
	v, err := decode(raw)
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, badRequest("The request body is not a JSON object.")
	}
	return m, nil
}

// normalise refuses what no database column can hold, and writes numbers as
// Python would, which is how clients know them: 1e3 is 1000.0, and a whole
// number keeps all its digits.
func normalise(v any) (any, error) {
	var err error
	switch t := v.(type) {
	case string:
		return t, checkText("the body", t)
	case json.Number:
		return normalNumber(t)
	case []any:
		for i, item := range t {
			if t[i], err = normalise(item); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k, item := range t {
			if err = checkText("the body", k); err != nil {
				return nil, err
			}
			if t[k], err = normalise(item); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

func normalNumber(n json.Number) (json.Number, error) {
	text := n.String()
	if text == "-0" {
		return "0", nil
	}
	if !strings.ContainsAny(text, ".eE") {
		return n, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return "", badRequest("The number %s is out of range.", text)
	}
	if size := math.Abs(f); f != 0 && (size < 1e-4 || size >= 1e16) {
		return json.Number(strconv.FormatFloat(f, 'e', -1, 64)), nil
	}
	text = strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return json.Number(text), nil
}

// checkText looks at every text that comes in a body or a query: keys and
// values. What has the form of a reference to a secret is refused here, whatever
// it is meant for.
func checkText(where, s string) error {
	if err := metal.RefuseRef(s); err != nil {
		return err
	}
	if strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s) {
		return badRequest("A text in %s holds a NUL character or is not UTF-8.", where)
	}
	return nil
}
