package v1

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

const maxJSONDepth = 25

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

// readBody reads the body up to limit bytes and refuses deep nesting before any
// parser runs.
func readBody(r *http.Request, limit int64) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	tooLarge := &rawFault{http.StatusRequestEntityTooLarge, "Request body is too large. Please contact the service administrator."}
	if r.ContentLength > limit {
		return nil, tooLarge
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, badRequest("The request body could not be read.")
	}
	if int64(len(raw)) > limit {
		return nil, tooLarge
	}
	if tooDeep(raw) {
		return nil, &rawFault{http.StatusBadRequest, "Request body JSON is nested too deeply. Please contact the service administrator."}
	}
	return raw, nil
}

// tooDeep counts brackets outside strings.
func tooDeep(raw []byte) bool {
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
			if depth++; depth > maxJSONDepth {
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
		return nil, badRequest("The request body is not UTF-8.")
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
	if err := checkValue(v); err != nil {
		return nil, err
	}
	return v, nil
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

// checkValue refuses what no database column can hold.
func checkValue(v any) error {
	switch t := v.(type) {
	case string:
		return checkText("the body", t)
	case []any:
		for _, item := range t {
			if err := checkValue(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for k, item := range t {
			if err := checkText("the body", k); err != nil {
				return err
			}
			if err := checkValue(item); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkText(where, s string) error {
	if strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s) {
		return badRequest("A text in %s holds a NUL character or is not UTF-8.", where)
	}
	return nil
}
