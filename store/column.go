package store

import (
	"database/sql/driver"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"ferrule/metal"
)

// field ties a column to the place in a record where its value lives: a
// *string, *int64 or *bool, or one of the types below. The same place is read
// into and written from.
type field struct {
	column string
	at     any
	fixed  bool // set once, at insert; or kept by the store itself
}

func col(column string, at any) field   { return field{column: column, at: at} }
func fixed(column string, at any) field { return field{column: column, at: at, fixed: true} }

// Types of column beyond those that database/sql knows.
type (
	optText   struct{ p **string }
	optBool   struct{ p **bool }
	optInt    struct{ p **int64 }
	instant   struct{ p *time.Time }  // microseconds, UTC
	optTime   struct{ p **time.Time } // the same or null
	nullEmpty struct{ p *string }     // null is ""
	textList  struct{ p *[]string }   // JSON array
	sealed    struct{ p *[]byte }     // base64
	jsonValue struct{ p any }         // pointer to a pointer; '' is nil
)

// value is the driver's value of a place or a plain argument. Text that an
// engine would cut or refuse is refused here.
func value(at any) (any, error) {
	switch v := at.(type) {
	case *string:
		return text(*v)
	case string:
		return text(v)
	case *int64:
		return *v, nil
	case *bool:
		return *v, nil
	case driver.Valuer:
		val, err := v.Value()
		if s, ok := val.(string); ok && err == nil {
			return text(s)
		}
		return val, err
	case time.Time:
		return v.UnixMicro(), nil
	case nil, int64, int, bool:
		return v, nil
	}
	return nil, fmt.Errorf("store: no column takes a %T", at)
}

func text(s string) (any, error) {
	if strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s) {
		return nil, metal.Errorf(metal.Invalid, "Text must be valid UTF-8 and must not contain NUL.")
	}
	return s, nil
}

func (c optText) Scan(src any) error {
	if src == nil {
		*c.p = nil
		return nil
	}
	s, err := asText(src)
	*c.p = &s
	return err
}

func (c optText) Value() (driver.Value, error) {
	if *c.p == nil {
		return nil, nil
	}
	return **c.p, nil
}

func (c nullEmpty) Scan(src any) error {
	if src == nil {
		*c.p = ""
		return nil
	}
	s, err := asText(src)
	*c.p = s
	return err
}

func (c nullEmpty) Value() (driver.Value, error) {
	if *c.p == "" {
		return nil, nil
	}
	return *c.p, nil
}

func (c optBool) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*c.p = nil
	case bool:
		*c.p = &v
	case int64:
		b := v != 0
		*c.p = &b
	default:
		return errColumn
	}
	return nil
}

func (c optBool) Value() (driver.Value, error) {
	if *c.p == nil {
		return nil, nil
	}
	return **c.p, nil
}

func (c optInt) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*c.p = nil
	case int64:
		*c.p = &v
	default:
		return errColumn
	}
	return nil
}

func (c optInt) Value() (driver.Value, error) {
	if *c.p == nil {
		return nil, nil
	}
	return **c.p, nil
}

func (c instant) Scan(src any) error {
	v, ok := src.(int64)
	if !ok {
		return errColumn
	}
	*c.p = time.UnixMicro(v).UTC()
	return nil
}

func (c instant) Value() (driver.Value, error) { return c.p.UnixMicro(), nil }

func (c optTime) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*c.p = nil
	case int64:
		t := time.UnixMicro(v).UTC()
		*c.p = &t
	default:
		return errColumn
	}
	return nil
}

func (c optTime) Value() (driver.Value, error) {
	if *c.p == nil {
		return nil, nil
	}
	return (*c.p).UnixMicro(), nil
}

func (c textList) Scan(src any) error {
	s, err := asText(src)
	if err != nil || s == "[]" || s == "" {
		*c.p = nil
		return err
	}
	*c.p = nil
	return json.Unmarshal([]byte(s), c.p)
}

func (c textList) Value() (driver.Value, error) {
	if len(*c.p) == 0 {
		return "[]", nil
	}
	return string(metal.ToJSON(*c.p)), nil
}

func (c sealed) Scan(src any) error {
	s, err := asText(src)
	if err != nil {
		return err
	}
	*c.p, err = base64.StdEncoding.DecodeString(s)
	return err
}

func (c sealed) Value() (driver.Value, error) {
	return base64.StdEncoding.EncodeToString(*c.p), nil
}

func (c jsonValue) Scan(src any) error {
	s, err := asText(src)
	if err != nil || s == "" {
		return err
	}
	return json.Unmarshal([]byte(s), c.p)
}

func (c jsonValue) Value() (driver.Value, error) {
	if s := metal.ToJSON(c.p); s != "null" {
		return string(s), nil
	}
	return "", nil
}

var errColumn = errors.New("column holds a value of another type")

func asText(src any) (string, error) {
	switch v := src.(type) {
	case string:
		return v, nil
	case []byte:
		return string(v), nil
	}
	return "", errColumn
}
