package metal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// JSON is one JSON value kept as text, as it is stored and sent: node fields
// such as properties are read far more often than they are looked into. The
// zero value stands for null.
type JSON string

// EmptyObject is the value of an object field that was never set.
const EmptyObject JSON = "{}"

// MarshalJSON gives the text itself.
func (j JSON) MarshalJSON() ([]byte, error) {
	if j == "" {
		return []byte("null"), nil
	}
	return []byte(j), nil
}

// UnmarshalJSON keeps the text, without insignificant blanks.
func (j *JSON) UnmarshalJSON(text []byte) error {
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		return err
	}
	*j = JSON(b.String())
	return nil
}

// ToJSON is v as JSON text; v must be made of marshallable parts.
func ToJSON(v any) JSON {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("metal: value of %T cannot be JSON: %v", v, err))
	}
	return JSON(bytes.TrimRight(b.Bytes(), "\n"))
}

// Decode reads the value into v; numbers in interfaces become json.Number, so
// that large ones keep their digits.
func (j JSON) Decode(v any) error {
	text := string(j)
	if text == "" {
		text = "null"
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	return dec.Decode(v)
}

// Object is the value as a map, never nil; a value that is no object is empty.
func (j JSON) Object() map[string]any {
	m := map[string]any{}
	if j == "" || j == EmptyObject {
		return m
	}
	if err := j.Decode(&m); err != nil || m == nil {
		return map[string]any{}
	}
	return m
}

// Lookup is the member of an object, nil where it is missing.
func (j JSON) Lookup(key string) any { return j.Object()[key] }

// Text is a string member of an object, "" where it is missing or no string.
func (j JSON) Text(key string) string {
	s, _ := j.Object()[key].(string)
	return s
}

// With is the object with one member set.
func (j JSON) With(key string, value any) JSON {
	m := j.Object()
	m[key] = value
	return ToJSON(m)
}

// Without is the object less some members.
func (j JSON) Without(keys ...string) JSON {
	m := j.Object()
	for _, k := range keys {
		delete(m, k)
	}
	return ToJSON(m)
}

// Empty reports whether the value is null, {} or [].
func (j JSON) Empty() bool {
	return j == "" || j == "null" || j == EmptyObject || j == "[]"
}

// Scan reads a TEXT column.
func (j *JSON) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*j = ""
	case string:
		*j = JSON(v)
	case []byte:
		*j = JSON(v)
	default:
		return errors.New("metal: JSON column is no text")
	}
	return nil
}
